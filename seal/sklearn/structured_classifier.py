"""`StructuredClassifier`, a meta-estimator of scikit-learn that reranks label sets."""

from contextlib import AbstractContextManager
from typing import Any

import numpy
import torch
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils._user_interface import _print_elapsed_time
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    _num_samples,
    check_is_fitted,
    column_or_1d,
)

from seal.common.setting_checks import require
from seal.sklearn.cross_fitting import held_out_scores, is_int, sets_of_several, split_rows
from seal.sklearn.label_matrix import read_labels
from seal.sklearn.label_scorers import (
    EstimatorScores,
    Params,
    check_estimator,
    fit_with,
    is_regressor,
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
    Multi-label classification that reranks whole label sets on top of any classifier of labels.

    `fit` scores each row by a copy of `estimator` that has not seen the row (cross-fitting). From these held-out scores
    it learns an energy with few parameters, which scores the label sets of the training data. The gains on the same
    rows and on earlier data sets decide whether to follow it, for each of three scores. Then `estimator` is fitted to
    all rows. If no gain is expected, predictions are the estimator's own, by the best threshold for the score or, where
    this is better on held-out rows, by its own `predict`.

    Rows of equal features are held out together.

    If `y` has one column, of classes, there is no structure, and the estimator predicts alone.

    # Parameters

    estimator : classifier or regressor, optional (default = `None`)
        A classifier with `predict_proba` or `decision_function`. If it takes one label only, a copy is fitted to each
        label (`OneVsRestClassifier`). The predictions of a regressor of 0 and 1 are taken as probabilities. `None`:
        logistic regression.
    cv : `int`, splitter or iterable, optional (default = `3`)
        As in scikit-learn; an `int` is the number of shuffled folds of groups. Splitters get the `groups` of `fit`, by
        default groups of equal rows. With any split, no copy is fitted to a row that equals one which it scores.
    decision : `str`, optional (default = `"auto"`)
        `"auto"`: the option that the gate chose on held-out scores; `"likeliest"`: the likeliest set;
        `"expected_score"`: the set of the best expected F1; `"own"`: the estimator's labels.
    scoring : `str`, optional (default = `"f1_samples"`)
        The score that `predict` optimises, by scikit-learn's name: `"f1_samples"`, `"f1_micro"` or `"accuracy"` (of
        whole label sets). It may be changed after `fit`.
    energies : `list[Union[str, dict]]`, optional (default = `None`)
        As for `LabelSetStructure`.
    constraints : `list[Constraint]`, optional (default = `None`)
        Rules of `seal.constraints`, which the decisions `"likeliest"` and `"expected_score"` keep whenever a set of the
        training data does. The name of a label is its number: `Implication({"3": "0"})`.
    num_likely : `int`, optional (default = `0`)
        As for `LabelSetStructure`: the number of each row's candidates beside the label sets of the training data.
    powerset : `bool`, optional (default = `True`)
        Whether to fit a ridge regression of whole label sets as well, whose scores are a term of the energy
        (`powerset`). It is left out if rows are not numbers, or there are many rows with many features;
        `report_["powerset"]` gives the reason.
    random_state : `int`, optional (default = `0`)
        The seed of the folds.
    max_samples : `int`, optional (default = `20000`)
        With more rows, the gate judges one part of them, at most half of this number, in place of all. The energy is
        learned from at most 6,000 rows. The label sets and the final `estimator` always use all rows.
    n_jobs : `int`, optional (default = `None`)
        The number of folds that are fitted in parallel, as in scikit-learn; `None`: one, unless in a context of joblib.
    verbose : `int`, optional (default = `0`)
        Above 0, each step is printed when it has ended, with its time; above 1, the structure's steps as well.

    # Attributes

    estimator_ : the estimator, fitted to all rows. If it cannot learn a label that no row has, or that all rows have,
        it is fitted to the other labels. If it takes one label only, it is a `OneVsRestClassifier`, in a pipeline if it
        was one.
    scorer_ : `EstimatorScores`, which gives the scores for `structure_`; for label sets only.
    encoding_ : the two numbers of `y`, for absent and present labels; for label sets only.
    structure_ : `LabelSetStructure`, or `None` if `y` has one column.
    report_ : `dict`, what was learned and chosen, and why: `report_["decisions"]` by the names of `scoring`.
    classes_ : for label sets a list of the two values of each label, as in `MultiOutputClassifier`; else those of
        `estimator_`.
    n_features_in_, feature_names_in_ : those of `estimator_`.

    # Raises

    `ValueError` if a setting is not known, `y` is neither one column of classes nor a matrix of labels, the split does
    not hold out each row once, or the estimator gives no scores of labels.
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

        X : the rows, of any type that `estimator` takes
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
            if not is_int(value) or value < least:
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
        # Rows of weight 0 are left out.
        kept = numpy.flatnonzero(weights > 0)
        if len(kept) == 0:
            raise ValueError("sample_weight: no row has a weight above 0.")
        same = equal_rows(X)
        groups = same if groups is None else equal_rows(groups)
        classes = sets_of_several(gold[kept], groups[kept]) if self.powerset else gold[:0]
        with telling_missing_text(X):
            folds = split_rows(self.cv, self.random_state, X, gold, same, groups, weights, of_splitter)
            estimator = self._with_requests(of_estimator)
            scores, failure = held_out_scores(
                estimator, classes, X, gold, weights, folds, of_estimator, self.n_jobs, bool(self.verbose)
            )
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
        """Fits the estimator alone, to a `y` of one column."""
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
        The labels by the decision for `scoring`, `(rows, labels)`, in the encoding of the `y` of `fit`. If that has one
        column, the estimator's predictions.
        """
        check_is_fitted(self)
        if self.structure_ is None:
            if _num_samples(X) == 0:
                return numpy.empty(0, dtype=self.classes_.dtype)
            return self.estimator_.predict(X)
        score, scores = SCORES[self.scoring], self.scores(X)
        if self.decision == "own":
            labels = self.structure_.task_net_labels(scores, score)
        elif self.decision == "auto":
            labels = self.structure_.decide(scores, score)
        else:
            labels = self.structure_.decide_by(scores, self.decision)
        no, yes = self.encoding_
        return numpy.where(labels.numpy(), yes, no)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> numpy.ndarray:
        """
        The probability of each label, `(rows, labels)`, above 0 and below 1: a logistic regression on the structured
        marginal and the estimator's log-odds, calibrated on held-out rows. `predict` uses other numbers, with the best
        threshold for a score, or chooses whole sets. If `y` has one column, the estimator's probabilities.
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
        The uncalibrated marginals of the structure, `sum_y q(y|x) y_l`: `(rows, labels)`, 0 to 1.
        """
        return self._structure().marginals(self.scores(X)).numpy()

    def scores(self, X: Any) -> ClassifierScores:
        """The input of `structure_`: the scores of rows by the estimator and by the classifier of whole sets."""
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
            # An array: `cross_val_predict` reads its shape.
            return numpy.tile(self.encoding_, (structure.num_labels, 1))
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

    def _step(self, name: str) -> AbstractContextManager:
        return _print_elapsed_time(type(self).__name__, f"Processing {name}" if self.verbose else None)

    def _say(self, text: str) -> None:
        if self.verbose > 1:
            print(f"[{type(self).__name__}] {text}", flush=True)

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that `estimator` and `cv` get with metadata routing."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self._estimator(), method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        if not is_int(self.cv):
            router.add(splitter=check_cv(self.cv), method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _routed(self, sample_weight: Any, groups: Any, params: Params) -> tuple[Params, Params]:
        """
        The parameters for `estimator` and those for `cv`. Raises `ValueError` or `TypeError` if neither takes one.
        """
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        of_splitter = {} if groups is None else {"groups": groups}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **weights, **of_splitter, **params)
            return routed.estimator.fit, {} if is_int(self.cv) else routed.splitter.split
        for name in params:
            raise TypeError(
                f"{name}: fit takes groups and sample_weight; others are passed to the estimator with "
                "sklearn.set_config(enable_metadata_routing=True), if it requests them."
            )
        if weights and requesting_weights(self._estimator()) is None:
            raise ValueError(f"sample_weight: {type(self._estimator()).__name__} takes no weights.")
        return weights, of_splitter

    def _with_requests(self, params: Params) -> Any:
        """The estimator; with weights and without metadata routing, a copy that requests them."""
        estimator = self._estimator()
        if "sample_weight" not in params or get_config()["enable_metadata_routing"]:
            return estimator
        return requesting_weights(estimator)
