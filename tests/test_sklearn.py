import inspect
import warnings

import numpy
import pandas
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibrationDisplay
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import average_precision_score, f1_score, get_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    cross_val_predict,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, RegressorChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from seal.constraints import AtMostOne
from seal.sklearn import SCORES, StructuredClassifier, log_odds, set_scorer
from seal.sklearn.cross_fitting import held_out_scores, split_rows
from seal.sklearn.label_matrix import read_labels
from seal.sklearn.rows import equal_rows
from seal.sklearn.set_scorer import SetScorer

SETS = numpy.unique(numpy.random.default_rng(3).integers(2, size=(12, 6)), axis=0)


def rows(count=240, seed=0, noise=0.9):
    """A few label sets, of which each feature tells a label, with noise."""
    generator = numpy.random.default_rng(seed)
    gold = SETS[generator.integers(len(SETS), size=count)]
    return gold + noise * generator.standard_normal(gold.shape), gold


@parametrize_with_checks([StructuredClassifier()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


CLASSIFIERS = [
    None,
    LogisticRegression(),
    LinearSVC(),
    RandomForestClassifier(30, random_state=0),
    OneVsRestClassifier(LogisticRegression()),
]
REGRESSORS = [Ridge(), SVR(), RegressorChain(Ridge()), make_pipeline(StandardScaler(), LinearRegression())]


@pytest.mark.parametrize(
    "estimator, energies",
    [*((estimator, None) for estimator in CLASSIFIERS), *((estimator, ["set_count"]) for estimator in REGRESSORS)],
    ids=[type(estimator).__name__ for estimator in (*CLASSIFIERS, *REGRESSORS)],
)
def test_any_estimator_gains_where_few_sets_occur(estimator, energies):
    x, gold = rows()
    new, wanted = rows(seed=1)
    fitted = StructuredClassifier(estimator, scoring="accuracy", energies=energies).fit(x, gold)
    assert fitted.report_["decisions"]["accuracy"]["option"] != "own"
    assert {tuple(row) for row in fitted.predict(new)} <= {tuple(row) for row in SETS}
    score = fitted.score(new, wanted)
    assert score > fitted.set_params(decision="own").score(new, wanted) + 0.03


def test_own_predictions_are_those_of_the_estimator_by_the_best_threshold():
    generator = numpy.random.default_rng(0)
    x = generator.standard_normal((300, 3))
    # Each label depends on a feature of its own, and all sets occur.
    gold = (x + 0.5 * generator.standard_normal(x.shape) > 0).astype(int)
    fitted = StructuredClassifier(scoring="f1_micro", decision="own").fit(x, gold)
    alone = OneVsRestClassifier(LogisticRegression()).fit(x, gold)
    decision = fitted.report_["decisions"]["f1_micro"]
    assert not decision["own_never_nothing"]
    assert (fitted.predict(x) == (alone.predict_proba(x) >= decision["own_threshold"])).all()


class ThresholdOfEachLabel(ClassifierMixin, BaseEstimator):
    """Predicts by a threshold of each label, which its coarse probabilities do not show."""

    def fit(self, x, y):
        self.classes_ = [numpy.array([0, 1])] * y.shape[1]
        self.thresholds_ = numpy.array([column[rows == 1].min() for column, rows in zip(x.T, y.T)])
        return self

    def predict(self, x):
        return (x >= self.thresholds_).astype(int)

    def predict_proba(self, x):
        yes = numpy.where(x > 0, 0.6, 0.4)
        return [numpy.stack([1 - column, column], axis=1) for column in yes.T]


@pytest.mark.parametrize("scoring", SCORES)
@pytest.mark.parametrize("rule", [None, AtMostOne(["0", "1"])])
def test_what_the_estimator_itself_predicts_is_an_option(scoring, rule):
    x = numpy.random.default_rng(0).standard_normal((600, 3))
    gold = (x > numpy.array([-0.5, 0.2, 0.7])).astype(int)
    if rule is not None:
        gold[:, 1] *= 1 - gold[:, 0]
    alone = ThresholdOfEachLabel().fit(x[:300], gold[:300])
    constraints = None if rule is None else [rule]
    fitted = StructuredClassifier(alone, scoring=scoring, powerset=False, constraints=constraints)
    fitted.fit(x[:300], gold[:300])
    assert fitted.report_["decisions"][scoring]["option"] == "predict"
    found, wanted = fitted.predict(x[300:]), alone.predict(x[300:])
    if rule is None:
        assert (found == wanted).all()
    else:
        kept = wanted[:, :2].sum(axis=1) < 2
        assert (found[kept] == wanted[kept]).all() and (found[:, :2].sum(axis=1) < 2).all()
    assert fitted.predict(x[:0]).shape == (0, 3)


def corners(count, seed):
    """Points around four corners, each with a label set of its own, of which no label is to one side of a line."""
    generator = numpy.random.default_rng(seed)
    corner = generator.integers(4, size=count)
    x = numpy.array([[0, 0], [0, 1], [1, 0], [1, 1]])[corner] + 0.25 * generator.standard_normal((count, 2))
    return x, numpy.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]])[corner]


class Texts(ClassifierMixin, BaseEstimator):
    """Reads rows that are no numbers, and says nothing of them."""

    def fit(self, x, y):
        self.classes_ = [0, 1]
        return self

    def predict_proba(self, x):
        return numpy.full((len(x), 2), 0.5)


def test_whole_sets_are_known_where_single_labels_are_not():
    """In the corners each label is on no side of a line, and each set is."""
    (x, gold), (new, wanted) = corners(300, 0), corners(400, 1)
    found = {}
    for powerset in (False, True):
        fitted = StructuredClassifier(powerset=powerset, scoring="accuracy").fit(x, gold)
        found[powerset] = (fitted.predict(new) == wanted).all(axis=1).mean()
    assert fitted.report_["powerset"] == "a term of the energy, for 4 label sets"
    assert found[True] > found[False] + 0.03


@pytest.mark.parametrize(
    "estimator, x, powerset, reason",
    [
        (None, corners(60, 0)[0], False, "left out: powerset=False"),
        (Texts(), [[f"word {row}"] for row in range(60)], True, "could not convert string"),
        (None, numpy.eye(60), True, "60 rows of 60 features are more than 50"),
    ],
)
def test_why_there_is_no_powerset(estimator, x, powerset, reason, monkeypatch):
    monkeypatch.setattr(set_scorer, "MOST_EQUATIONS", 50)
    gold = corners(60, 0)[1]
    fitted = StructuredClassifier(estimator, powerset=powerset).fit(x, gold)
    assert fitted.report_["powerset"].startswith("left out: ") and reason in fitted.report_["powerset"]
    assert fitted.scorer_.whole is None and fitted.predict(x).shape == gold.shape


@pytest.mark.parametrize("features", [3, 40], ids=["few features", "few rows"])
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_whole_sets_are_those_of_ridge_regression(features, weighted):
    generator = numpy.random.default_rng(0)
    x, new = generator.standard_normal((2, 20, features))
    gold = numpy.array([[0, 1], [1, 1]])[generator.integers(2, size=20)].astype(bool)
    weights = generator.integers(1, 4, size=20) if weighted else numpy.ones(20, dtype=int)
    sets = numpy.array([[0, 1], [1, 1], [1, 0]], dtype=bool)
    scorer = SetScorer(sets, 20).fit(x, gold, weights if weighted else None)
    rows_, targets = numpy.repeat(x, weights, axis=0), numpy.repeat(gold[:, 0], weights)
    scaler = StandardScaler().fit(rows_)
    rows_ = scaler.transform(rows_)
    ridge = Ridge(alpha=set_scorer.PENALTY * (rows_**2).sum() / len(rows_)).fit(rows_, targets)
    wanted = ridge.predict(scaler.transform(new))
    found = scorer.of(new).numpy()
    assert found[:, 1] == pytest.approx(wanted, abs=1e-5) and found[:, 0] == pytest.approx(1 - wanted, abs=1e-5)
    # No row has the third set.
    assert numpy.isnan(found[:, 2]).all()


def test_a_missing_feature_is_the_mean_of_the_others():
    x, gold = corners(40, 0)
    x[3, 0] = numpy.nan
    scorer = SetScorer(numpy.unique(gold, axis=0).astype(bool), 40).fit(x, gold.astype(bool))
    new = numpy.array([[numpy.nan, 0.5], [numpy.nanmean(x[:, 0]), 0.5]])
    found = scorer.of(new)
    assert torch.isfinite(found).all()
    torch.testing.assert_close(found[0], found[1])


def test_sparse_rows_have_scores_of_whole_sets():
    x, gold = corners(40, 0)
    x = numpy.concatenate([x, numpy.zeros((40, 10))], axis=1)
    sets = numpy.unique(gold, axis=0).astype(bool)
    wanted = Ridge(alpha=set_scorer.PENALTY * (x**2).sum() / 40, fit_intercept=False)
    targets = (gold[:, None] == sets).all(axis=2)
    wanted.fit(x, targets - targets.mean(axis=0))
    for kept in (x, sparse.csr_array(x)):
        found = SetScorer(sets, 40).fit(kept, gold.astype(bool)).of(kept)
        assert found.numpy() == pytest.approx(wanted.predict(x) + targets.mean(axis=0), abs=1e-5)


@pytest.mark.parametrize("sparsely", [False, True])
def test_one_product_gives_what_each_logistic_regression_says(sparsely, monkeypatch):
    x, gold = rows(60)
    x = sparse.csr_matrix(x) if sparsely else x
    fitted = OneVsRestClassifier(LogisticRegression(C=0.1)).fit(x, gold)
    wanted = torch.from_numpy(fitted.predict_proba(x)).logit().float()
    monkeypatch.setattr(LogisticRegression, "predict_proba", lambda self, X: pytest.fail("asked one by one"))
    torch.testing.assert_close(log_odds(fitted, x, 6), wanted)


@pytest.mark.parametrize("decision", ["likeliest", "expected_score"])
def test_a_decision_by_name(decision):
    x, gold = rows()
    fitted = StructuredClassifier(decision=decision).fit(x, gold)
    wanted = fitted.structure_.decide_by(fitted.scores(x), decision)
    assert (fitted.predict(x) == wanted.numpy()).all()


def test_rules_are_kept():
    x, gold = rows()
    pair = tuple(numpy.argwhere(numpy.triu(gold.T @ gold, 1) > 0)[0])
    rule = AtMostOne(list(pair))
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
    q = fitted.structure_.joint.probabilities(fitted.structure_.candidates(fitted.scores(x)))
    wanted = sum(q[:, i : i + 1].detach() * known for i, known in enumerate(fitted.structure_.sets))
    assert marginals == pytest.approx(wanted.numpy(), abs=1e-5)


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
    "settings, named",
    [
        ({"num_likely": -1}, "num_likely: .*-1"),
        ({"decision": "best"}, "decision: .*'best'"),
        ({"scoring": "f1"}, "scoring: .*'f1'"),
        ({"cv": ShuffleSplit(2, random_state=0)}, "cv: "),
        ({"energies": ["pairs"]}, "'pairs'"),
        ({"estimator": KMeans(2)}, "estimator: .*KMeans"),
        ({"estimator": LogisticRegression}, "estimator: .*LogisticRegression"),
        ({"estimator": "lr"}, "estimator: .*str"),
        ({"estimator": StandardScaler()}, "StandardScaler"),
    ],
)
def test_a_setting_that_cannot_work_is_named(settings, named):
    with pytest.raises(Exception, match=named):
        StructuredClassifier(**settings).fit(*rows(30))


# Matrices of labels.


CONTAINERS = {
    "array": numpy.asarray,
    "list": lambda y: y.tolist(),
    "float": lambda y: y.astype(float),
    "object": lambda y: y.astype(object),
    "table": lambda y: pandas.DataFrame(y),
    "nullable table": lambda y: pandas.DataFrame(y).astype("Int64"),
    "csr": sparse.csr_matrix,
    "coo": sparse.coo_array,
}


@given(
    gold=arrays(bool, st.tuples(st.integers(1, 6), st.integers(2, 4))),
    encoding=st.sampled_from([(0, 1), (-1, 1), (1, 2)]),
    container=st.sampled_from(sorted(CONTAINERS)),
)
def test_a_matrix_of_labels_is_read_in_every_encoding_and_container(gold, encoding, container):
    y = numpy.where(gold, encoding[1], encoding[0])
    found = read_labels(CONTAINERS[container](y))
    if encoding != (0, 1) and len(numpy.unique(y)) == 1 and (y == 1).all():
        # 1 alone is the yes of 0 and 1.
        assert found.gold.all()
    else:
        assert found.encoding == encoding and (found.gold == gold).all()


@pytest.mark.parametrize("encoding", [(0, 1), (-1, 1), (1, 2)])
@pytest.mark.parametrize("estimator", [None, LinearSVC(), RandomForestClassifier(10, random_state=0)])
def test_predictions_are_in_the_numbers_of_y(encoding, estimator):
    x, gold = rows(60)
    usual = StructuredClassifier(estimator, energies=["set_count"]).fit(x, gold)
    y = numpy.where(gold, encoding[1], encoding[0])
    fitted = clone(usual).fit(x, y)
    assert (fitted.predict(x) == numpy.where(usual.predict(x), encoding[1], encoding[0])).all()
    assert fitted.score(x, y) == usual.score(x, gold)
    assert [list(values) for values in fitted.classes_] == [list(encoding)] * 6


def test_probabilities_by_cross_validation():
    """Scikit-learn reads the shape of `classes_` there, and refuses lists."""
    x, gold = rows(60)
    classifier, folds = StructuredClassifier(energies=["set_count"]), KFold(2)
    found = cross_val_predict(classifier, x, gold, cv=folds, method="predict_proba")
    for seen, unseen in folds.split(x):
        assert (found[unseen] == clone(classifier).fit(x[seen], gold[seen]).predict_proba(x[unseen])).all()


@pytest.mark.parametrize(
    "cell, message",
    [
        (None, "row 2, column 1 .*None"),
        (numpy.nan, "row 2, column 1 .*nan"),
        (-1, "-1 in row 2, column 1"),
        (0.5, "0.5 in row 2, column 1"),
        ("yes", "row 2, column 1 .*'yes'"),
    ],
)
def test_a_cell_that_is_no_label(cell, message):
    x, gold = rows(30)
    y = gold.astype(object)
    y[2, 1] = cell
    with pytest.raises(ValueError, match=message):
        StructuredClassifier().fit(x, y.tolist())


@pytest.mark.parametrize(
    "y, message",
    [
        ([["a", "b"], ["c", "d"]], "row 0, column 0"),
        ([["a"], ["b", "c"]], "lengths"),
        ([[0, 255], [255, 0]], "0, 255"),
        ([[-1, 0], [0, -1]], "-1, 0"),
        (numpy.zeros((0, 2)), r"\(0, 2\)"),
        ([[0, 2], [1, 0], [2, 1]], "0, 1, 2"),
    ],
)
def test_other_matrices_are_refused(y, message):
    with pytest.raises(ValueError, match=f"^y: .*{message}"):
        StructuredClassifier().fit([[0.0], [1.0], [2.0]], y)


@pytest.mark.parametrize("there", [0, 1])
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        RidgeClassifier(),
        LogisticRegression(),
        MLPClassifier(max_iter=20, random_state=0),
        MultiOutputClassifier(LogisticRegression()),
        MultiOutputClassifier(LinearSVC()),
        ClassifierChain(LogisticRegression()),
        Ridge(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_label_that_never_or_always_occurs(estimator, there):
    x, gold = rows(60)
    gold = numpy.concatenate([gold, numpy.full((60, 1), there)], axis=1)
    fitted = StructuredClassifier(estimator, scoring="f1_micro", energies=["set_count"]).fit(x, gold)
    for decision in ("own", "auto"):
        assert (fitted.set_params(decision=decision).predict(x)[:, 6] == there).all()
    bound = numpy.log(0.9999 / 0.0001) * (2 * there - 1)
    assert fitted.scores(x).logits[0, 6].item() == pytest.approx(bound, rel=1e-3)


# Estimators.


#: What makes them quick, or work on these rows.
QUICK = {"max_iter": 30, "n_estimators": 5, "random_state": 0, "cv": 2, "thresholds": 5, "radius": 4.0}


def made(name, kind):
    """An estimator of a class, on top of others where it needs them."""
    if name in {"StackingClassifier", "VotingClassifier"}:
        estimator = kind([("one", GaussianNB()), ("other", DecisionTreeClassifier(random_state=0))])
    elif "estimator" in inspect.signature(kind).parameters and "n_estimators" not in inspect.signature(kind).parameters:
        estimator = kind(estimator=GaussianNB())
    else:
        estimator = kind()
    known = estimator.get_params()
    return estimator.set_params(**{key: value for key, value in QUICK.items() if key in known})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, kind", all_estimators(type_filter="classifier"))
def test_every_classifier_of_scikit_learn_works_or_says_in_a_sentence_why_not(name, kind):
    x, gold = rows(60, noise=0.4)
    x, gold = abs(x), gold[:, :3]
    fitted = StructuredClassifier(made(name, kind), decision="own", scoring="f1_micro", cv=2, energies=["set_count"])
    try:
        found = fitted.fit(x, gold).predict(x)
    except ValueError as error:
        assert str(error).startswith(f"estimator: {name} ")
        assert name in {"CategoricalNB", "OutputCodeClassifier", "VotingClassifier"}
    else:
        # By scores that tell nothing all labels are predicted; by scores that are upside down, worse is.
        everything = f1_score(gold, numpy.ones_like(gold), average="micro")
        assert f1_score(gold, found, average="micro") >= everything - 0.01


def test_a_regressor_does_not_predict_classes():
    x, gold = rows(30)
    with pytest.raises(ValueError, match="estimator: "):
        StructuredClassifier(Ridge()).fit(x, gold[:, 0])


class Plain:
    """Fitted to label sets, and of no base of scikit-learn's: no tags."""

    shape = staticmethod(lambda probabilities: probabilities)

    def get_params(self, deep=True):
        return {}

    def fit(self, x, y):
        self.inner = RandomForestClassifier(20, random_state=0).fit(x, y)
        return self

    def predict_proba(self, x):
        return self.shape(numpy.stack([found[:, 1] for found in self.inner.predict_proba(x)], axis=1))


class GivesSparse(Plain):
    shape = staticmethod(sparse.lil_matrix)


class Untold(GivesSparse, ClassifierMixin, BaseEstimator):
    """As those of scikit-multilearn: their tags do not say that they know label sets, and they know nothing else."""

    def fit(self, x, y):
        if numpy.ndim(y) != 2:
            raise IndexError("tuple index out of range")
        return super().fit(x, y)


@pytest.mark.parametrize("kind", [Plain, GivesSparse, Untold])
def test_classes_that_are_not_scikit_learns(kind):
    x, gold = rows(60)
    usual = StructuredClassifier(RandomForestClassifier(20, random_state=0), energies=["set_count"])
    wanted = usual.fit(x, gold).predict(x)
    assert (usual.set_params(estimator=kind()).fit(x, gold).predict(x) == wanted).all()


class ThreeAxes(Plain):
    shape = staticmethod(lambda probabilities: numpy.stack([1 - probabilities, probabilities], axis=2))


class NotANumber(Plain):
    shape = staticmethod(lambda probabilities: probabilities * numpy.nan)


@pytest.mark.parametrize("estimator, named", [(ThreeAxes(), r"ThreeAxes .*\(80, 6, 2\)"), (NotANumber(), "NotANumber")])
def test_estimators_that_cannot_work_are_named(estimator, named):
    with pytest.raises(ValueError, match=f"estimator: .*{named}"):
        StructuredClassifier(estimator).fit(*rows())


@pytest.mark.parametrize("form", ["csr", "coo", "dia", "bsr", "csc", "lil", "dok"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_rows_and_labels_of_every_format(form, kind):
    x, gold = rows(60)
    make = getattr(sparse, f"{form}_{kind}")
    # Of whole sets, dense features are standardised and sparse ones are not.
    usual = StructuredClassifier(energies=["set_count"], powerset=False).fit(x, gold)
    fitted = clone(usual).fit(make(x), make(gold))
    assert (fitted.predict(make(x)) == usual.predict(x)).all()


def test_tables_in_a_pipeline_with_set_output():
    x, gold = rows(60)
    table = pandas.DataFrame(x, columns=list("abcdef"))
    pipeline = make_pipeline(StandardScaler(), StructuredClassifier()).set_output(transform="pandas")
    pipeline.fit(table, pandas.DataFrame(gold))
    assert list(pipeline[-1].feature_names_in_) == list("abcdef") and pipeline[-1].n_features_in_ == 6
    assert not hasattr(StructuredClassifier(), "classes_")
    scaled = StandardScaler().fit_transform(x)
    assert (pipeline.predict(table) == StructuredClassifier().fit(scaled, gold).predict(scaled)).all()


# Weights of rows, and metadata routing.


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(tol=1e-8),
        OneVsRestClassifier(LogisticRegression(tol=1e-8)),
        make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)),
    ],
)
def test_a_weight_counts_as_so_many_equal_rows(estimator):
    x, gold = rows(60)
    weights = numpy.random.default_rng(0).integers(0, 4, size=60)
    classifier = StructuredClassifier(estimator, cv=LeaveOneGroupOut(), energies=["label_scores", "set_count"])
    groups = numpy.arange(60) % 6
    weighted = clone(classifier).fit(x, gold, groups, sample_weight=weights)
    again = numpy.repeat(numpy.arange(60), weights)
    repeated = clone(classifier).fit(x[again], gold[again], groups[again])
    torch.testing.assert_close(weighted.scores(x).logits, repeated.scores(x).logits, atol=1e-2, rtol=0)
    assert weighted.report_["scale"] == pytest.approx(repeated.report_["scale"], abs=0.02)
    assert torch.equal(weighted.structure_.counts, repeated.structure_.counts)
    for score, found in weighted.report_["decisions"].items():
        assert found["values"]["own"] == pytest.approx(repeated.report_["decisions"][score]["values"]["own"], abs=0.01)
    assert (weighted.predict(x) == repeated.predict(x)).mean() > 0.97


def test_an_estimator_that_takes_no_weights():
    x, gold = rows(60)
    with pytest.raises(ValueError, match="^sample_weight: KNeighborsClassifier "):
        StructuredClassifier(KNeighborsClassifier()).fit(x, gold, sample_weight=numpy.ones(60))
    assert has_fit_parameter(StructuredClassifier(), "sample_weight")


def test_other_parameters_need_metadata_routing():
    x, gold = rows(60)
    with pytest.raises(TypeError, match="^coef_init: .*enable_metadata_routing"):
        StructuredClassifier().fit(x, gold, coef_init=numpy.zeros(6))


def test_metadata_are_routed_to_the_estimator_and_to_the_splitter():
    x, gold = rows(60)
    weights, groups = numpy.random.default_rng(0).integers(1, 4, size=60), numpy.arange(60) % 6
    wanted = StructuredClassifier(cv=GroupKFold(3)).fit(x, gold, groups, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        asking = StructuredClassifier(LogisticRegression().set_fit_request(sample_weight=True), cv=GroupKFold(3))
        found = asking.fit(x, gold, groups, sample_weight=weights)
        asking.set_fit_request(sample_weight=True, groups=True).set_score_request(sample_weight=False)
        cross_validate(asking, x, gold, params={"sample_weight": weights, "groups": groups}, cv=2, error_score="raise")
        with pytest.raises(UnsetMetadataPassedError):
            StructuredClassifier(LogisticRegression()).fit(x, gold, sample_weight=weights)
    torch.testing.assert_close(found.scores(x).logits, wanted.scores(x).logits)
    assert (found.predict(x) == wanted.predict(x)).all()


def test_held_out_probabilities_are_as_far_from_the_frequency_of_a_label_as_the_final_ones():
    """liblinear penalises the intercept: of fewer rows, probabilities of rare labels are nearer to one half."""
    generator = numpy.random.default_rng(0)
    x, gold = generator.standard_normal((150, 3)), numpy.eye(150, 4, dtype=int)
    gold |= sum(numpy.roll(gold, by, axis=0) for by in (30, 60, 90, 120))
    means = {}
    for solver in ("liblinear", "lbfgs"):
        classifier = StructuredClassifier(LogisticRegression(C=0.01, solver=solver), powerset=False)
        weights = numpy.ones(150)
        folds = split_rows(3, 0, x, gold, numpy.arange(150), numpy.arange(150), weights, {})
        held, _ = held_out_scores(classifier.estimator, gold[:0], x, gold.astype(bool), weights, folds, {})
        final = classifier.fit(x, gold).scores(generator.standard_normal((3000, 3))).logits
        means[solver] = [scores.sigmoid().mean().item() for scores in (held.logits, final)]
    # Of two thirds of the weight, it would be 0.03 more.
    assert means["liblinear"][0] == pytest.approx(means["liblinear"][1], abs=0.01) and means["liblinear"][1] > 0.3
    assert means["lbfgs"] == pytest.approx([5 / 150, 5 / 150], abs=0.015)


# Folds.


class Seen(LogisticRegression):
    """Notes whether a row that it scores is equal to one that it was fitted to."""

    noted: list = []

    def fit(self, x, y):
        self.rows_ = {tuple(row) for row in x}
        return super().fit(x, y)

    def predict_proba(self, x):
        self.noted.append(sum(tuple(row) in self.rows_ for row in x))
        return super().predict_proba(x)


def test_scores_are_of_copies_that_have_not_seen_the_row():
    x, gold = rows(60)
    Seen.noted.clear()
    fitted = StructuredClassifier(Seen(), cv=4).fit(x, gold)
    number = 4 * gold.shape[1]
    assert len(Seen.noted) == number and set(Seen.noted) == {0}
    fitted.predict(x)
    assert set(Seen.noted[number:]) == {60}


@settings(max_examples=10, deadline=None)
@given(
    copies=st.lists(st.integers(1, 4), min_size=12, max_size=12),
    cv=st.sampled_from([2, 3, KFold(3), GroupKFold(3), LeaveOneGroupOut(), "list"]),
    grouped=st.booleans(),
)
def test_no_copy_is_fitted_to_a_row_that_equals_one_which_it_scores(copies, cv, grouped):
    x, gold = rows(12)
    # Each label is there and missing among rows that are far apart.
    gold[::2], gold[1::2] = 0, 1
    places = numpy.random.default_rng(sum(copies)).permutation(numpy.repeat(numpy.arange(12), copies))
    x, gold = x[places], gold[places]
    if cv == "list":
        cv = list(KFold(3, shuffle=True, random_state=1).split(x))
    Seen.noted.clear()
    StructuredClassifier(Seen(), cv=cv, energies=["set_count"]).fit(x, gold, places % 5 if grouped else None)
    assert Seen.noted and set(Seen.noted) == {0}


def test_different_rows_are_held_out_as_by_shuffled_folds():
    x, gold = rows(60)
    groups = equal_rows(x)
    assert groups.tolist() == list(range(60))
    wanted = KFold(3, shuffle=True, random_state=0).split(x)
    for found, known in zip(split_rows(3, 0, x, gold, groups, groups, numpy.ones(60), {}), wanted, strict=True):
        assert (found[0] == known[0]).all() and (found[1] == known[1]).all()


def test_rows_that_are_given_thrice_teach_what_they_teach_once():
    x, gold = rows(noise=1.2)
    forest = RandomForestClassifier(30, random_state=0)
    once = StructuredClassifier(forest).fit(x, gold).report_
    thrice = StructuredClassifier(forest).fit(numpy.repeat(x, 3, axis=0), numpy.repeat(gold, 3, axis=0)).report_
    # Scores of a forest that has seen a row are near 0 and 1, and right.
    assert thrice["scale"] == pytest.approx(once["scale"], rel=0.5)
    own = [report["decisions"]["f1_samples"]["values"]["own"] for report in (once, thrice)]
    assert own[1] == pytest.approx(own[0], abs=0.05)


def test_groups_are_held_out_together():
    x, gold = rows(60)
    groups = numpy.array(["a", "b", "c", "d", "e", "f"] * 10)
    for cv in (3, GroupKFold(3), LeaveOneGroupOut()):
        for seen, unseen in split_rows(cv, 0, x, gold, equal_rows(x), equal_rows(groups), numpy.ones(60), {}):
            assert not set(groups[seen]) & set(groups[unseen])
        StructuredClassifier(cv=cv, energies=["set_count"]).fit(x, gold, groups)
    pipeline = make_pipeline(StandardScaler(), StructuredClassifier(cv=LeaveOneGroupOut()))
    pipeline.fit(x, gold, structuredclassifier__groups=groups)


@pytest.mark.parametrize(
    "cv, message",
    [
        ([(numpy.arange(30), numpy.arange(29, 60)), (numpy.arange(30, 60), numpy.arange(30))], "split 1 "),
        ([(numpy.arange(60) < 40, numpy.arange(60) > 10), ([0], [1])], "split 1 .* row 11"),
        ([(numpy.arange(30), numpy.arange(30, 60))], "once"),
        (7, "7 .* 6"),
    ],
)
def test_splits_that_cannot_work(cv, message):
    x, gold = rows(60)
    with pytest.raises(ValueError, match=f"^cv: .*{message}"):
        StructuredClassifier(cv=cv).fit(x, gold, numpy.arange(60) % 6)


TEXTS = ["a", "b", "a", ""]


@pytest.mark.parametrize(
    "x, wanted",
    [
        (TEXTS, [0, 1, 0, 2]),
        (numpy.array(TEXTS), [0, 1, 0, 2]),
        ([[0.0, 1], [1, 0], [-0.0, 1], [numpy.nan, 0], [numpy.nan, 0]], [0, 1, 0, 2, 2]),
        ([[1, "a"], [1, "b"], [1, "a"]], [0, 1, 0]),
        ([{"a": 1}, {"a": 2}, {"a": 1}], [0, 1, 0]),
        (pandas.DataFrame({"n": [1.5, numpy.nan, numpy.nan], "s": ["a", None, None]}), [0, 1, 1]),
        (sparse.coo_array(([1.0, 2, 1, 1, 0], ([0, 1, 2, 2, 1], [1, 1, 1, 0, 2]))), [0, 1, 2]),
        (sparse.csr_array(([2.0, 1, 1, 0], [1, 1, 1, 0], [0, 1, 4])), [0, 0]),
        (numpy.arange(12).reshape(3, 2, 2) % 4, [0, 0, 0]),
        ([[1, 2], [1], [1, 2]], [0, 1, 0]),
    ],
)
def test_equal_rows(x, wanted):
    assert equal_rows(x).tolist() == wanted


# Many rows.


def test_many_rows_are_judged_in_part_and_known_as_a_whole(capsys):
    x, gold = rows(400)
    fitted = StructuredClassifier(max_samples=100, verbose=2, energies=["set_count"]).fit(x, gold)
    assert fitted.report_["judged"] == 50 and fitted.structure_.counts.sum() == 400
    new, wanted = rows(seed=1)
    whole = StructuredClassifier(energies=["set_count"]).fit(x, gold)
    assert whole.report_["judged"] == 400
    assert fitted.score(new, wanted) == pytest.approx(whole.score(new, wanted), abs=0.1)
    told = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[StructuredClassifier] ") for line in told)
    assert sum("Processing fold" in line and "total=" in line for line in told) == 3
    assert "Judging 50 rows, part 1 of 1" in " ".join(told)


# Probabilities, no rows, texts.


def test_probabilities_serve_scikit_learns_scores_and_curves():
    (x, gold), (new, wanted) = rows(), rows(seed=1)
    fitted = StructuredClassifier().fit(x, gold)
    found = fitted.predict_proba(new)
    assert found.shape == gold.shape and ((found > 0) & (found < 1)).all()
    own = fitted.scores(new).logits.sigmoid().numpy()
    for scoring, score in (("roc_auc", roc_auc_score), ("average_precision", average_precision_score)):
        assert get_scorer(scoring)(fitted, new, wanted) == score(wanted, found)
        assert score(wanted, found) > score(wanted, own) + 0.003
    display = CalibrationDisplay.from_predictions(wanted[:, 0], found[:, 0])
    assert len(display.prob_true) > 1


def test_probabilities_of_one_output_are_the_estimators():
    x, gold = rows(60)
    fitted = StructuredClassifier().fit(x, gold[:, 0])
    assert (fitted.predict_proba(x) == LogisticRegression().fit(x, gold[:, 0]).predict_proba(x)).all()
    assert not hasattr(StructuredClassifier(LinearSVC()).fit(x, gold[:, 0]), "predict_proba")
    assert hasattr(StructuredClassifier(LinearSVC()).fit(x, gold), "predict_proba")


def test_no_rows_give_no_rows():
    x, gold = rows(60)
    for y, probabilities in ((gold, (0, 6)), (gold[:, 0], (0, 2))):
        fitted = StructuredClassifier().fit(x, y)
        assert fitted.predict(x[:0]).shape == y[:0].shape
        assert fitted.predict_proba(x[:0]).shape == probabilities


def texts_and_sets(count=60):
    generator = numpy.random.default_rng(0)
    gold = generator.integers(2, size=(count, 3))
    words = numpy.array(["sun", "snow", "rain"])
    return [" ".join(["day", *words[row == 1]]) for row in gold], gold


class Counted(TfidfVectorizer):
    fits = 0

    def fit_transform(self, raw_documents, y=None):
        type(self).fits += 1
        return super().fit_transform(raw_documents, y)


@pytest.mark.parametrize("outer", [lambda pipeline: pipeline, OneVsRestClassifier, MultiOutputClassifier])
def test_transformers_of_a_pipeline_are_fitted_once_a_fold(outer):
    texts, gold = texts_and_sets()
    Counted.fits = 0
    fitted = StructuredClassifier(outer(make_pipeline(Counted(), LogisticRegression()))).fit(texts, gold)
    assert Counted.fits == 4
    usual = StructuredClassifier(LogisticRegression(), cv=fitted.cv)
    vectors = TfidfVectorizer().fit(texts)
    wanted = usual.fit(vectors.transform(texts), gold).scores(vectors.transform(texts)).logits
    torch.testing.assert_close(fitted.scores(texts).logits, wanted)
    assert fitted.estimator_.predict(texts).shape == gold.shape


def test_a_transformer_that_needs_labels_is_fitted_to_each_label():
    x, gold = rows(60)
    fitted = StructuredClassifier(make_pipeline(SelectKBest(k=1), LogisticRegression())).fit(x, gold)
    chosen = [single[0].get_support().argmax() for single in fitted.estimator_.estimators_]
    assert chosen == list(range(6))


@pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA])
def test_a_missing_text_is_told_with_its_row(missing):
    texts, gold = texts_and_sets()
    classifier = StructuredClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression())).fit(texts, gold)
    texts[7] = missing
    for rows_, method in ((texts, "fit"), (numpy.array(texts, dtype=object), "fit"), (texts, "predict")):
        with pytest.raises(ValueError, match="^X: row 7 "):
            clone(classifier).fit(rows_, gold) if method == "fit" else classifier.predict(rows_)
    table = pandas.DataFrame({"number": range(60), "title": texts})
    columns = make_column_transformer((TfidfVectorizer(), "title"), ("passthrough", ["number"]))
    with pytest.raises(ValueError, match="^X: row 7 .* 'title'"):
        StructuredClassifier(make_pipeline(columns, LogisticRegression())).fit(table, gold)


def test_a_missing_cell_that_the_estimator_reads_is_no_mistake():
    x, gold = rows(60)
    table = pandas.DataFrame({"number": x[:, 0], "kind": numpy.where(x[:, 1] > 0, "a", None)})
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    fitted = StructuredClassifier(make_pipeline(encoder, LogisticRegression())).fit(table, gold)
    assert fitted.predict(table).shape == gold.shape


def test_folds_side_by_side_give_the_same():
    x, gold = rows(60)
    one, two = (StructuredClassifier(n_jobs=number).fit(x, gold) for number in (None, 2))
    assert torch.equal(one.structure_.joint.scale, two.structure_.joint.scale)
    assert (one.predict_proba(x) == two.predict_proba(x)).all()


def test_no_warning_about_constant_labels_or_many_sets():
    x, gold = rows(40)
    gold = numpy.concatenate([gold, numpy.eye(40, 30, dtype=int), numpy.ones((40, 1), dtype=int)], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StructuredClassifier(energies=["set_count"]).fit(x, gold).predict(x)
