import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy
import torch
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils._user_interface import _print_elapsed_time
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    column_or_1d,
)

from seal.common.setting_checks import require
from seal.sklearn.label_matrix import read_labels
from seal.sklearn.label_scorers import (
    EstimatorScores,
    Params,
    check_estimator,
    fit_with,
    is_regressor,
    penalises_intercept,
    requesting_weights,
    tags_of,
)
from seal.sklearn.rows import equal_rows, telling_missing_text
from seal.sklearn.set_scorer import SetScorer
from seal.structure.label_set_structure import ENERGIES, LabelSetStructure
from seal.structure.label_sets import ClassifierScores

#: The names of scores in scikit-learn, and in `seal.structure`.
SCORES = {"f1_samples": "f1", "f1_micro": "micro_f1", "accuracy": "subset_accuracy"}
DECISIONS = ("auto", "own", "likeliest", "expected_score")
_LEAST_PROBABILITY = 1e-6


def _has_probabilities(classifier: "StructuredClassifier") -> bool:
    alone = getattr(classifier, "structure_", "not fitted") is None
    return not alone or hasattr(classifier.estimator_, "predict_proba")


class StructuredClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """
    Multi-label classification by whole label sets, on top of a classifier of single labels.

    `fit` takes each row's scores from a copy of `estimator` that has not seen the row, learns from these which of the
    label sets of the training data go with which scores (an energy with few parameters). The gains on the same rows
    and on earlier data sets decide how far to follow it for each of three scores. Then `estimator` is fitted to all
    rows. If no gain is expected, predictions are the estimator's own, by the threshold that is best for the score or,
    where that is better on held-out rows, by its own `predict`.

    Rows of equal features are held out together.

    With one output a row (`y` of one dimension) there is no structure, and the estimator predicts alone.

    # Parameters

    estimator : classifier or regressor, optional (default = `None`)
        Of several labels, with `predict_proba` or `decision_function`; one of single labels is fitted to each label
        (`OneVsRestClassifier`). The predictions of a regressor of 0 and 1 are taken as probabilities. `None`: logistic
        regression.
    cv : `int`, splitter or iterable, optional (default = `3`)
        As in scikit-learn; an `int` is the number of shuffled folds of groups. Splitters get the `groups` of `fit`, and
        those of equal rows where there are none. Whatever the split, no copy is fitted to a row that equals one which
        it scores.
    decision : `str`, optional (default = `"auto"`)
        `"auto"` chooses on the held-out scores, `"likeliest"` takes the likeliest set, `"expected_score"` the set of
        the best expected F1, `"own"` the estimator's labels.
    scoring : `str`, optional (default = `"f1_samples"`)
        The score for which `predict` decides, by scikit-learn's name: `"f1_samples"`, `"f1_micro"` or `"accuracy"`
        (of whole label sets). It may be changed after `fit`.
    energies : `list[Union[str, dict]]`, optional (default = `None`)
        As for `LabelSetStructure`.
    constraints : `list[Constraint]`, optional (default = `None`)
        Rules of `seal.constraints`, which the decisions `"likeliest"` and `"expected_score"` keep whenever a set of the
        training data does. Labels are called by their number: `Implication({"3": "0"})`.
    num_likely : `int`, optional (default = `0`)
        As for `LabelSetStructure`: so many sets beside those of the training data compete.
    powerset : `bool`, optional (default = `True`)
        A ridge regression of whole label sets is fitted beside, in closed form, and what it says of a set is a term of
        the energy (`powerset`). Where rows are no numbers, or many rows have many features, it is left out, and
        `report_["powerset"]` says so.
    random_state : `int`, optional (default = `0`)
        Of the folds.
    max_samples : `int`, optional (default = `20000`)
        Where there are more rows, the decisions are chosen on one part of them, at most half as many as this, in place
        of all; the energy is never learned from more than 6,000. All rows count for the label sets that compete, and
        `estimator` is always fitted to all.
    n_jobs : `int`, optional (default = `None`)
        How many folds are fitted side by side, as in scikit-learn; `None`: one, unless in a context of joblib.
    verbose : `int`, optional (default = `0`)
        Above 0 each step is printed when it has ended, with the time it took; above 1 those of the structure as well.

    # Attributes

    estimator_ : the estimator, fitted to all rows and, where it cannot learn a label that no row has or all, to the
        other labels. Where it is one of single labels: `OneVsRestClassifier`, in a pipeline if it was one.
    scorer_ : `EstimatorScores`, what `structure_` decides by; of label sets alone.
    encoding_ : the two numbers of `y`, of which the second is yes; of label sets alone.
    structure_ : `LabelSetStructure`, or `None` with one output a row.
    report_ : `dict`, what was learned and chosen, and why: `report_["decisions"]` by the names of `scoring`.
    classes_ : for label sets a list of the two values of each label, as of `MultiOutputClassifier`; else those of
        `estimator_`.
    n_features_in_, feature_names_in_ : those of `estimator_`.

    # Raises

    `ValueError` if a setting is not known, `y` is neither one column of classes nor a matrix of labels, the split is
    none, or the estimator gives no scores of labels.
    """

    def __init__(
        self,
        estimator=None,
        cv=3,
        decision="auto",
        scoring="f1_samples",
        energies=None,
        constraints=None,
        num_likely=0,
        powerset=True,
        random_state=0,
        max_samples=20000,
        n_jobs=None,
        verbose=0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.decision = decision
        self.scoring = scoring
        self.energies = energies
        self.constraints = constraints
        self.num_likely = num_likely
        self.powerset = powerset
        self.random_state = random_state
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None, **params: Any
    ) -> "StructuredClassifier":
        """
        # Parameters

        X : whatever `estimator` takes, one row an instance
        y : array, table or sparse matrix, `(rows, labels)`, of 0 and 1, -1 and 1, or 1 and 2; or `(rows,)`, classes
        groups : array, `(rows,)`, optional
            Rows of one group are held out together.
        sample_weight : array, `(rows,)`, optional
            At least 0: how often each row counts, as if it were there so often, for `estimator` and in thresholds, the
            energy and the decisions. With metadata routing `estimator` gets them only if it requests them.
        params : optional
            With metadata routing, what is routed to `estimator` and to `cv`.
        """
        for name, known in (("decision", DECISIONS), ("scoring", SCORES)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name}: one of {', '.join(known)} is needed, found {getattr(self, name)!r}.")
        for name, what, least in (("max_samples", "rows", 1), ("num_likely", "sets", 0)):
            value = getattr(self, name)
            if not _is_int(value) or value < least:
                raise ValueError(f"{name}: a number of {what}, at least {least}, is needed, found {value!r}.")
        if y is None:
            raise ValueError("StructuredClassifier requires y to be passed, but the target y is None")
        check_estimator(self._estimator())
        self.structure_, self.report_ = None, {}
        labels = read_labels(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        of_estimator, of_splitter = self._routed(sample_weight, groups, params)
        if labels is None:
            return self._fit_alone(X, y, of_estimator)
        X, gold, groups = indexable(X, labels.gold, groups)
        weights = numpy.ones(len(gold)) if sample_weight is None else sample_weight
        # A row without weight is no row.
        kept = numpy.flatnonzero(weights > 0)
        if len(kept) == 0:
            raise ValueError("sample_weight: no row has a weight above 0.")
        same = equal_rows(X)
        groups = same if groups is None else equal_rows(groups)
        classes = _sets_of_several(gold[kept], groups[kept]) if self.powerset else gold[:0]
        with telling_missing_text(X):
            folds = self._folds(X, gold, same, groups, weights, of_splitter)
            scores, failure = self._held_out(classes, X, gold, weights, folds, of_estimator)
        scores, gold, groups, weights = scores[torch.from_numpy(kept)], gold[kept], groups[kept], weights[kept]
        energies = list(ENERGIES if self.energies is None else self.energies)
        powerset = f"a term of the energy, for {len(classes)} label sets"
        if scores.log_prob is not None:
            energies.append("powerset")
        else:
            powerset = "left out: " + (
                failure or ("no label set is in two groups of rows" if self.powerset else "powerset=False")
            )
        self.structure_ = LabelSetStructure(
            gold.shape[1],
            energies,
            num_likely=self.num_likely,
            constraints=self.constraints,
            most_rows=self.max_samples,
        )
        with self._step("the structure"):
            report = self.structure_.fit(
                scores,
                torch.from_numpy(gold),
                groups=torch.from_numpy(groups),
                say=self._say,
                weights=None if sample_weight is None else torch.from_numpy(weights),
            )
        decisions = report["decisions"]
        report["decisions"] = {name: decisions[score] for name, score in SCORES.items()}
        self.report_ = {**report, "powerset": powerset}
        with self._step("the estimator of all rows"):
            whole = None if scores.log_prob is None else SetScorer(classes, len(gold))
            of_estimator = _check_method_params(X, of_estimator, kept)
            estimator = self._with_requests(of_estimator)
            self.scorer_ = EstimatorScores(estimator, whole).fit(_safe_indexing(X, kept), gold, of_estimator)
        self.estimator_ = self.scorer_.estimator
        self.encoding_ = labels.encoding
        return self

    def _fit_alone(self, X: Any, y: Any, params: Params) -> "StructuredClassifier":
        """One output a row."""
        type_of_target(y, input_name="y")
        if is_regressor(self._estimator()):
            raise ValueError("estimator: y has one column, of classes, which a regressor does not predict.")
        y = y.toarray() if hasattr(y, "toarray") else y
        classes = y if numpy.asarray(y).ndim == 1 else column_or_1d(y, warn=True)
        with self._step("the estimator of all rows"):
            self.estimator_ = fit_with(clone(self._with_requests(params)), X, classes, params)
        return self

    def predict(self, X: Any) -> numpy.ndarray:
        """
        The labels by the decision for `scoring`: `(rows, labels)`, in the numbers of the `y` of `fit`; or what the
        estimator predicts alone.
        """
        check_is_fitted(self)
        if self.structure_ is None:
            if _num_samples(X) == 0:
                return numpy.empty(0, dtype=self.classes_.dtype)
            return self.estimator_.predict(X)
        score, scores = SCORES[self.scoring], self.scores(X)
        if self.decision == "own":
            labels = self.structure_.own(scores, score)
        elif self.decision == "auto":
            labels = self.structure_.decide(scores, score)
        else:
            labels = self.structure_.decide_by(scores, self.decision)
        no, yes = self.encoding_
        return numpy.where(labels.numpy(), yes, no)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> numpy.ndarray:
        """
        The probability of each label, `(rows, labels)`, above 0 and below 1: what the structured marginal and the
        estimator say together, calibrated on held-out rows. `predict` decides by other numbers, with a threshold that
        is best for a score, or chooses whole sets. With one output a row, the probabilities of the estimator.
        """
        check_is_fitted(self)
        if self.structure_ is None:
            if _num_samples(X) == 0:
                return numpy.empty((0, len(self.classes_)))
            return self.estimator_.predict_proba(X)
        found = self.structure_.marginals(self.scores(X), calibrated=True).double().numpy()
        return numpy.clip(found, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)

    def marginals(self, X: Any) -> numpy.ndarray:
        """
        `sum_y q(y|x) y_l`, how likely each label is under the structure alone: `(rows, labels)`, 0 to 1.
        """
        return self._structure().marginals(self.scores(X)).numpy()

    def scores(self, X: Any) -> ClassifierScores:
        """By what `structure_` decides: what the estimator, and the classifier of whole sets, say of the rows."""
        structure = self._structure()
        if _num_samples(X) == 0:
            return self.scorer_.of_no_rows()
        with telling_missing_text(X):
            return self.scorer_.of(X, predicted=structure.needs_labels)

    def _structure(self) -> LabelSetStructure:
        check_is_fitted(self, "structure_")
        return require(self.structure_, "a y of several columns")

    @property
    def classes_(self):
        structure = getattr(self, "structure_", None)
        if structure is not None:
            return [numpy.array(self.encoding_) for _ in range(structure.num_labels)]
        return self.estimator_.classes_

    @property
    def n_features_in_(self):
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self):
        return self.estimator_.feature_names_in_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        inner = tags_of(self._estimator())
        if inner is not None:
            tags.input_tags = inner.input_tags
        return tags

    def _estimator(self):
        return LogisticRegression() if self.estimator is None else self.estimator

    def _message(self, name: str) -> str | None:
        return f"Processing {name}" if self.verbose else None

    def _step(self, name: str) -> AbstractContextManager:
        return _print_elapsed_time(type(self).__name__, self._message(name))

    def _say(self, text: str) -> None:
        if self.verbose > 1:
            print(f"[{type(self).__name__}] {text}", flush=True)

    def get_metadata_routing(self) -> MetadataRouter:
        """What is passed on to `estimator` and `cv` with metadata routing."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self._estimator(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        if not _is_int(self.cv):
            router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _routed(self, sample_weight: Any, groups: Any, params: Params) -> tuple[Params, Params]:
        """What `estimator` and what `cv` gets. Raises `ValueError` or `TypeError` where something can go nowhere."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        of_splitter = {} if groups is None else {"groups": groups}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **weights, **of_splitter, **params)
            return routed.estimator.fit, {} if _is_int(self.cv) else routed.splitter.split
        for name in params:
            raise TypeError(
                f"{name}: fit takes groups and sample_weight; others are passed to the estimator with "
                "sklearn.set_config(enable_metadata_routing=True), if it requests them."
            )
        if weights and requesting_weights(self._estimator()) is None:
            raise ValueError(f"sample_weight: {type(self._estimator()).__name__} takes no weights.")
        return weights, of_splitter

    def _with_requests(self, params: Params) -> Any:
        """The estimator, which requests weights where it gets them without metadata routing."""
        estimator = self._estimator()
        if "sample_weight" not in params or get_config()["enable_metadata_routing"]:
            return estimator
        return requesting_weights(estimator)

    def _folds(
        self,
        X: Any,
        gold: numpy.ndarray,
        same: numpy.ndarray,
        groups: numpy.ndarray,
        weights: numpy.ndarray,
        of_splitter: Params,
    ) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
        """The rows to learn from and those to score of each fold: rows with a weight, no equal ones on both sides."""
        with warnings.catch_warnings():
            if not of_splitter:
                # Nobody asked for groups.
                warnings.filterwarnings("ignore", message="The groups parameter is ignored")
            splits = list(self._splits(X, gold, groups, weights > 0))
        folds = []
        for number, (seen, unseen) in enumerate(splits, 1):
            if both := sorted(set(seen) & set(unseen)):
                raise ValueError(
                    f"cv: split {number} has {len(both)} rows in its training part and in its test part as well, such "
                    f"as row {both[0]}; rows must be scored by a copy that has not seen them."
                )
            seen, unseen = seen[weights[seen] > 0], unseen[weights[unseen] > 0]
            seen = seen[~numpy.isin(same[seen], same[unseen])]
            if len(seen) == 0:
                raise ValueError(f"cv: in split {number} each row to learn from equals one of its test part.")
            if len(unseen):
                folds.append((seen, unseen))
        held = numpy.concatenate([unseen for _, unseen in folds])
        if len(numpy.unique(held)) < (weights > 0).sum():
            raise ValueError("cv: each row must be held out once; a shuffled split of a part of the rows does not do.")
        return folds

    def _held_out(
        self,
        sets: numpy.ndarray,
        X: Any,
        gold: numpy.ndarray,
        weights: numpy.ndarray,
        folds: list[tuple[numpy.ndarray, numpy.ndarray]],
        params: Params,
    ) -> tuple[ClassifierScores, str | None]:
        """
        The scores of each row by copies that have seen neither it nor one that equals it, and why there are none of
        `sets`, if so. Copies of an estimator that penalises its intercept learn from rows that weigh as much as all
        rows together: from less, their probabilities would be further from the share of rows that have a label than
        those of the final estimator, to which thresholds would not transfer.
        """
        estimator, raises = self._with_requests(params), False
        if "sample_weight" not in params and penalises_intercept(estimator):
            estimator, raises = requesting_weights(estimator), True
        tasks = []
        for number, (seen, unseen) in enumerate(folds, 1):
            of_fold = _check_method_params(X, params, seen)
            if raises or ("sample_weight" in params and penalises_intercept(estimator)):
                of_seen = of_fold.get("sample_weight", numpy.ones(len(seen)))
                of_fold = {**of_fold, "sample_weight": of_seen * weights.sum() / weights[seen].sum()}
            whole = SetScorer(sets, len(gold)) if len(sets) else None
            message = self._message(f"fold {number} of {len(folds)}")
            tasks.append((EstimatorScores(estimator, whole), X, gold, seen, unseen, of_fold, message))
        parts = Parallel(n_jobs=self.n_jobs)(delayed(_scores_of_fold)(*task) for task in tasks)
        logits, labels = torch.zeros(gold.shape), torch.zeros(gold.shape, dtype=torch.bool)
        failure = next((failure for _, failure in parts if failure is not None), None)
        log_prob = None if len(sets) == 0 or failure is not None else torch.full((len(gold), len(sets)), torch.nan)
        for (_, unseen), (scores, _) in zip(folds, parts, strict=True):
            logits[unseen], labels[unseen] = scores.logits, scores.labels
            if log_prob is not None:
                log_prob[unseen] = scores.log_prob
        if log_prob is None:
            return ClassifierScores(logits, labels=labels), failure
        return ClassifierScores(logits, torch.from_numpy(sets), log_prob, labels), None

    def _splits(
        self, X: Any, gold: numpy.ndarray, groups: numpy.ndarray, there: numpy.ndarray
    ) -> Iterator[tuple[Any, Any]]:
        """The training part and the test part of each split, by the places of rows. Folds are of rows `there`."""
        places = numpy.arange(len(gold))
        if not _is_int(self.cv):
            for seen, unseen in check_cv(self.cv).split(X, gold, groups):
                yield places[seen], places[unseen]
            return
        numbers = numpy.unique(groups[there])
        if len(numbers) < self.cv:
            raise ValueError(
                f"cv: {self.cv} folds need as many groups of rows, found {len(numbers)} (n_samples = {len(gold)}); "
                "rows of equal features are one group."
            )
        for _, held in KFold(self.cv, shuffle=True, random_state=self.random_state).split(numbers):
            unseen = numpy.isin(groups, numbers[held])
            yield places[~unseen], places[unseen]


def _sets_of_several(gold: numpy.ndarray, groups: numpy.ndarray) -> numpy.ndarray:
    """
    The label sets of rows of several groups, `(sets, labels)`; a set of one group is no class for the copies that score
    its rows.
    """
    sets, place = numpy.unique(gold, axis=0, return_inverse=True)
    pairs = numpy.unique(numpy.stack([place.reshape(-1), groups]), axis=1)
    return sets[numpy.bincount(pairs[0], minlength=len(sets)) > 1]


def _scores_of_fold(
    scorer: EstimatorScores,
    X: Any,
    gold: numpy.ndarray,
    seen: numpy.ndarray,
    unseen: numpy.ndarray,
    params: Params,
    message: str | None,
) -> tuple[ClassifierScores, str | None]:
    """The scores of the rows `unseen` by a copy fitted to the rows `seen`, and why that of whole sets fails."""
    with _print_elapsed_time("StructuredClassifier", message):
        scorer.fit(_safe_indexing(X, seen), gold[seen], params)
        return scorer.of(_safe_indexing(X, unseen)), scorer.failure


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, numpy.integer)) and not isinstance(value, bool)
