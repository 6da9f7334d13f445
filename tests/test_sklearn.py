import numpy
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from seal.constraints import AtMostOne
from seal.sklearn import SCORES, StructuredClassifier, log_odds

SETS = numpy.unique(numpy.random.default_rng(3).integers(2, size=(12, 6)), axis=0)


def rows(count=240, seed=0, noise=0.9):
    """A few label sets, of which each feature tells a label, with noise."""
    generator = numpy.random.default_rng(seed)
    gold = SETS[generator.integers(len(SETS), size=count)]
    return gold + noise * generator.standard_normal(gold.shape), gold


@parametrize_with_checks([StructuredClassifier()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        LogisticRegression(),
        LinearSVC(),
        RandomForestClassifier(30, random_state=0),
        OneVsRestClassifier(LogisticRegression()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_classifier_gains_where_few_sets_occur(estimator):
    x, gold = rows()
    new, wanted = rows(seed=1)
    fitted = StructuredClassifier(estimator, scoring="accuracy").fit(x, gold)
    assert fitted.report_["decisions"]["subset_accuracy"]["option"] != "own"
    assert {tuple(row) for row in fitted.predict(new)} <= {tuple(row) for row in SETS}
    score = fitted.score(new, wanted)
    assert score > fitted.set_params(decision="own").score(new, wanted) + 0.05


def test_own_predictions_where_nothing_is_gained():
    generator = numpy.random.default_rng(0)
    x = generator.standard_normal((300, 3))
    # Each label depends on a feature of its own, and all sets occur.
    gold = (x + 0.5 * generator.standard_normal(x.shape) > 0).astype(int)
    fitted = StructuredClassifier(scoring="f1_micro").fit(x, gold)
    alone = OneVsRestClassifier(LogisticRegression()).fit(x, gold)
    decision = fitted.report_["decisions"]["micro_f1"]
    assert decision["option"] == "own"
    assert (fitted.predict(x) == (alone.predict_proba(x) >= decision["threshold"])).all()


def test_scores_are_of_copies_that_have_not_seen_the_row():
    seen = []

    class Remembers(LogisticRegression):
        def fit(self, x, y):
            self.rows_ = {tuple(row) for row in x}
            return super().fit(x, y)

        def predict_proba(self, x):
            seen.append(sum(tuple(row) in self.rows_ for row in x))
            return super().predict_proba(x)

    x, gold = rows(60)
    fitted = StructuredClassifier(Remembers(), cv=4).fit(x, gold)
    assert len(seen) == 4 * gold.shape[1] and set(seen) == {0}
    fitted.predict(x)
    assert set(seen[4 * gold.shape[1] :]) == {60}


@pytest.mark.parametrize("decision", ["likeliest", "expected_score"])
def test_a_decision_by_name(decision):
    x, gold = rows()
    fitted = StructuredClassifier(decision=decision).fit(x, gold)
    wanted = fitted.structure_.decide_by(log_odds(fitted.estimator_, x, 6), decision)
    assert (fitted.predict(x) == wanted.numpy()).all()


def test_rules_are_kept():
    x, gold = rows()
    pair = tuple(numpy.argwhere(numpy.triu(gold.T @ gold, 1) > 0)[0])
    rule = AtMostOne([str(label) for label in pair])
    free, bound = (
        clone(StructuredClassifier(decision="likeliest", constraints=rules)).fit(x, gold).predict(x)[:, pair]
        for rules in (None, [rule])
    )
    assert free.all(axis=1).any() and not bound.all(axis=1).any()


def test_marginals():
    x, gold = rows()
    fitted = StructuredClassifier().fit(x, gold)
    marginals = fitted.marginals(x)
    assert marginals.shape == gold.shape and ((marginals >= 0) & (marginals <= 1)).all()
    q = fitted.structure_.joint.probabilities(fitted.structure_.competing(log_odds(fitted.estimator_, x, 6)))
    wanted = sum(q[:, i : i + 1].detach() * known for i, known in enumerate(fitted.structure_.sets))
    assert marginals == pytest.approx(wanted.numpy(), abs=1e-5)


def test_sparse_rows_and_labels():
    x, gold = rows()
    dense = StructuredClassifier().fit(x, gold)
    fitted = StructuredClassifier().fit(sparse.csr_matrix(x), sparse.csr_matrix(gold))
    assert (fitted.predict(sparse.csr_matrix(x)) == dense.predict(x)).all()


def test_texts_in_a_pipeline_and_a_grid():
    words = numpy.array([["sun", "beach"], ["snow", "ski"], ["sun", "ski"]])
    sets = numpy.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1]])
    generator = numpy.random.default_rng(0)
    which = generator.integers(3, size=120)
    noise = generator.choice(["the", "a", "of", "sun", "snow"], size=(120, 3))
    texts = [" ".join([*words[i], *more]) for i, more in zip(which, noise)]
    pipeline = make_pipeline(TfidfVectorizer(), StructuredClassifier(LogisticRegression()))
    grid = {"structuredclassifier__estimator__C": [0.1, 10], "structuredclassifier__decision": ["own", "auto"]}
    search = GridSearchCV(pipeline, grid, cv=2, scoring="f1_samples").fit(texts, sets[which])
    assert search.best_score_ > 0.9
    assert search.predict(["sun beach the", "of ski snow"]).tolist() == sets[:2].tolist()


def test_a_label_that_a_fold_lacks():
    x, gold = rows(60)
    gold = numpy.concatenate([gold, numpy.zeros((60, 1), dtype=int)], axis=1)
    gold[7, 6] = 1
    for estimator in (LogisticRegression(), RandomForestClassifier(10, random_state=0), KNeighborsClassifier()):
        assert StructuredClassifier(estimator).fit(x, gold).predict(x).shape == gold.shape


@pytest.mark.parametrize("scoring", list(SCORES))
def test_the_same_seed_gives_the_same_model(scoring):
    x, gold = rows()
    first = StructuredClassifier(scoring=scoring).fit(x, gold)
    second = clone(first).fit(x, gold)
    assert torch.equal(first.structure_.joint.scale, second.structure_.joint.scale)
    assert (first.predict(x) == second.predict(x)).all()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"decision": "best"}, "decision: one of auto, own, likeliest, expected_score is needed, found 'best'"),
        ({"scoring": "f1"}, "scoring: one of f1_samples, f1_micro, accuracy is needed, found 'f1'"),
        ({"cv": ShuffleSplit(2, random_state=0)}, "cv: each row must be held out once"),
        ({"energies": ["pairs"]}, "'pairs' is none of"),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(Exception, match=message):
        StructuredClassifier(**settings).fit(*rows(30))


def test_classes_in_two_columns():
    with pytest.raises(ValueError, match="1d array"):
        StructuredClassifier().fit([[0.0], [1.0], [2.0]], [[0, 2], [1, 0], [2, 1]])
