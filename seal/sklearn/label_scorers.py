"""Fits any estimator of scikit-learn to label sets, and computes log-odds of labels and scores of whole sets."""

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy
import torch
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter, validate_data

from seal.sklearn.set_scorer import SetScorer
from seal.structure.label_sets import ClassifierScores

#: Probabilities are clipped to [LEAST, 1 - LEAST]: forests give 0 and 1, which have no log-odds. Labels that never or
#: always occur get these values.
LEAST = 1e-4
_MOST = math.log((1 - LEAST) / LEAST)
#: Estimators that fit a copy of another one to each label.
_ONE_A_LABEL = (OneVsRestClassifier, MultiOutputClassifier)
#: Further arguments of `fit` by their names, such as `sample_weight`.
Params = Mapping[str, Any]


def tags_of(estimator: Any) -> Any:
    """Scikit-learn's tags of an estimator; `None` if it has none."""
    try:
        return get_tags(estimator)
    except (AttributeError, TypeError):
        return None


def is_regressor(estimator: Any) -> bool:
    return getattr(tags_of(estimator), "estimator_type", None) == "regressor"


def check_estimator(estimator: Any) -> None:
    """Raises `ValueError` if this is not a classifier or regressor."""
    name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        hint = f"; give {name}(...) in place of the class" if isinstance(estimator, type) else ""
        raise ValueError(f"estimator: a classifier with fit and get_params is needed, found {name}{hint}.")
    kind = getattr(tags_of(estimator), "estimator_type", None)
    if kind not in (None, "classifier", "regressor"):
        raise ValueError(f"estimator: a classifier or regressor is needed, found {name}, of the kind '{kind}'.")


def requesting_weights(estimator: Any) -> Any:
    """
    A copy of an estimator in which every part whose `fit` takes `sample_weight` requests it (metadata routing), so that
    pipelines and `OneVsRestClassifier` pass weights on; `None` if no part takes weights.
    """
    with config_context(enable_metadata_routing=True):
        copy = clone(estimator)
        parts = [copy, *copy.get_params(deep=True).values()]
        weighted = [part for part in parts if hasattr(part, "fit") and has_fit_parameter(part, "sample_weight")]
        for part in weighted:
            if hasattr(part, "set_fit_request"):
                part.set_fit_request(sample_weight=True)
    return copy if weighted else None


def penalises_intercept(estimator: Any) -> bool:
    """Whether the estimator, or a part of it, is fitted by liblinear, which penalises the intercept, too."""
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any(
        isinstance(part, LinearSVC) or (isinstance(part, LogisticRegression) and part.solver == "liblinear")
        for part in parts
    )


def fit_with(estimator: Any, X: Any, y: Any, params: Params, method: str = "fit") -> Any:
    """Calls `method` with the `params` that the estimator or its parts request."""
    if not params:
        return getattr(estimator, method)(X, y)
    with config_context(enable_metadata_routing=True):
        consumed = get_routing_for_object(estimator).consumes(method, params.keys())
        if not hasattr(estimator, "get_metadata_routing") and has_fit_parameter(estimator, "sample_weight"):
            consumed = {"sample_weight"} & params.keys()
        return getattr(estimator, method)(X, y, **{name: params[name] for name in consumed})


class EstimatorScores:
    """
    A copy of an estimator and, optionally, a classifier of whole label sets, fitted to the same transformed rows.

    The transformers of a pipeline are fitted once for all labels.

    # Parameters

    estimator : a classifier or regressor, or a pipeline that ends in one
    whole : `SetScorer`, optional
        The classifier of whole label sets, unfitted.
    """

    def __init__(self, estimator: Any, whole: SetScorer | None = None) -> None:
        self._given = estimator
        self.whole = whole
        #: The error of fitting `whole`, if it failed.
        self.failure: str | None = None
        self.transformers: Any = None
        self.labels: LabelScorer

    def fit(self, X: Any, gold: numpy.ndarray, params: Params) -> "EstimatorScores":
        """Fits to `gold`, `(rows, labels)`, boolean. Raises what the estimator raises."""
        first_error = None
        for transformers, estimator in _forms(self._given):
            try:
                rows = X
                self.transformers = transformers
                if transformers is not None:
                    self.transformers = clone(transformers)
                    rows = fit_with(self.transformers, X, None, params, "fit_transform")
                self.labels = LabelScorer(estimator).fit(rows, gold, params)
                break
            except Exception as error:
                first_error = first_error or error
        else:
            assert first_error is not None
            raise first_error
        if self.whole is not None:
            try:
                self.whole.fit(rows, gold, params.get("sample_weight"))
            except ValueError as error:
                self.whole, self.failure = None, str(error)
        return self

    def of(self, X: Any, predicted: bool = True) -> ClassifierScores:
        """The scores of rows; with `predicted` also the labels that the estimator predicts."""
        rows = X if self.transformers is None else self.transformers.transform(X)
        logits = self.labels.log_odds(rows)
        scores = ClassifierScores(logits, labels=self.labels.predict(rows, logits) if predicted else None)
        if self.whole is not None:
            scores.classes, scores.log_prob = torch.from_numpy(self.whole.sets), self.whole.of(rows)
        return scores

    def of_no_rows(self) -> ClassifierScores:
        """The scores of 0 rows, as many estimators refuse an empty `X`."""
        logits = torch.zeros(0, self.labels.number)
        scores = ClassifierScores(logits, labels=logits.bool())
        if self.whole is not None:
            scores.classes, scores.log_prob = torch.from_numpy(self.whole.sets), torch.zeros(0, len(self.whole.sets))
        return scores

    @property
    def estimator(self) -> Any:
        """The fitted estimator of labels, with its transformers."""
        if self.transformers is None:
            return self.labels.estimator
        return Pipeline([*self.transformers.steps, ("estimator", self.labels.estimator)])


def _forms(estimator: Any) -> Iterator[tuple[Any, Any]]:
    """
    Ways to split an estimator into transformers, or `None`, and an estimator of their output, the better way first. The
    transformers are the steps of a pipeline before its last one, if none of them needs labels.
    """
    pipeline, inside = estimator, isinstance(estimator, _ONE_A_LABEL)
    if inside:
        pipeline = estimator.estimator
    if isinstance(pipeline, Pipeline) and len(pipeline.steps) > 1:
        transformers, last = pipeline[:-1], pipeline[-1]
        if not _needs_labels(transformers):
            yield transformers, clone(estimator).set_params(estimator=last) if inside else last
    yield None, estimator


def _needs_labels(transformers: Pipeline) -> bool:
    parts = [part for part in transformers.get_params(deep=True).values() if hasattr(part, "fit")]
    tags = [tags_of(part) for part in parts]
    return any(found is None or found.target_tags.required for found in tags)


class LabelScorer:
    """
    Makes any estimator score each label. A classifier of label sets is fitted once, a classifier of one label once for
    each label. A regressor is fitted to 0 and 1, and its predictions are taken as probabilities. For an estimator
    without tags both ways are tried.

    A label that no row has, or that all rows have, gets a constant score. Estimators that cannot learn such labels are
    fitted to the other ones.

    # Parameters

    estimator : a classifier or regressor
    """

    def __init__(self, estimator: Any) -> None:
        tags = tags_of(estimator)
        each = MultiOutputRegressor(estimator) if is_regressor(estimator) else OneVsRestClassifier(estimator)
        together = tags is None or tags.target_tags.multi_output
        together = together or bool(tags.classifier_tags and tags.classifier_tags.multi_label)
        # Tags may be incomplete: the other form is tried if the first fails.
        self._forms = [estimator, each] if together else [each, estimator]
        self._given = estimator
        self.estimator: Any = None

    def fit(self, X: Any, gold: numpy.ndarray, params: Params) -> "LabelScorer":
        """Fits a copy of the estimator to `gold`, `(rows, labels)`, boolean; raises what it raises."""
        always = numpy.all(gold, axis=0)
        varies = numpy.any(gold, axis=0) & ~always
        self._constant = numpy.where(always, 1.0, 0.0)
        self._varies, self.number = varies, len(varies)
        every = numpy.ones_like(varies)
        first_error = None
        for form in self._forms:
            choices = [every]
            if varies.any() and not varies.all():
                choices = [varies, every] if isinstance(form, _ONE_A_LABEL) else [every, varies]
            for columns in choices:
                fitted = clone(form)
                try:
                    with warnings.catch_warnings():
                        # Constant labels are handled here.
                        warnings.filterwarnings("ignore", message="Label .* is present in all")
                        fit_with(fitted, X, gold[:, columns].astype(int), params)
                except Exception as error:
                    first_error = first_error or error
                    continue
                self.estimator, self._columns = fitted, columns
                return self
        assert first_error is not None
        raise _in_one_sentence(first_error, self._given, "be fitted")

    def log_odds(self, X: Any) -> torch.Tensor:
        """The log-odds of each label, `(rows, labels)`."""
        try:
            fitted = log_odds(self.estimator, X, int(self._columns.sum()))
        except Exception as error:
            raise _in_one_sentence(error, self._given, "score rows") from error
        if self._varies.all():
            return fitted
        scores = _logit(torch.from_numpy(self._constant)).repeat(len(fitted), 1)
        scores[:, torch.from_numpy(self._varies)] = fitted[:, torch.from_numpy(self._varies[self._columns])]
        return scores

    def predict(self, X: Any, log_odds: torch.Tensor) -> torch.Tensor:
        """
        The labels that the estimator predicts, `(rows, labels)`, boolean. A regressor predicts labels of at least 0.5.
        If `predict` does not return a matrix of labels, those with `log_odds` above 0.
        """
        likely = log_odds > 0
        # For logistic regressions this is what `predict` computes.
        if not hasattr(self.estimator, "predict") or _are_logistic(self.estimator, int(self._columns.sum())):
            return likely
        predicted = self.estimator.predict(X)
        predicted = numpy.asarray(predicted.toarray() if sparse.issparse(predicted) else predicted)
        if predicted.size != len(likely) * int(self._columns.sum()) or predicted.dtype.kind not in "biuf":
            return likely
        likely[:, torch.from_numpy(self._columns)] = torch.from_numpy(predicted.reshape(len(likely), -1) >= 0.5)
        return likely


def _are_logistic(estimator: Any, number: int) -> bool:
    singles = getattr(estimator, "estimators_", [])
    if not isinstance(estimator, _ONE_A_LABEL) or len(singles) != number:
        return False
    return all(type(single) is LogisticRegression and len(single.classes_) == 2 for single in singles)


def _logistic_decisions(estimator: Any, X: Any, number: int) -> numpy.ndarray | None:
    """The log-odds of one logistic regression for each label, `(rows, number)`; `None` for other estimators."""
    if not _are_logistic(estimator, number):
        return None
    singles = estimator.estimators_
    X = validate_data(singles[0], X, accept_sparse="csr", reset=False)
    weights = numpy.concatenate([single.coef_ for single in singles])
    bias = numpy.concatenate([single.intercept_ for single in singles])
    return safe_sparse_dot(X, weights.T, dense_output=True) + bias


def _in_one_sentence(error: Exception, estimator: Any, what: str) -> Exception:
    """Errors about values (`ValueError`, `TypeError`) unchanged; others as a `ValueError` that names the estimator."""
    if isinstance(error, (ValueError, TypeError)):
        return error
    return ValueError(f"estimator: {type(estimator).__name__} cannot {what}: {type(error).__name__}: {error}")


def log_odds(estimator: Any, X: Any, num_labels: int) -> torch.Tensor:
    """
    The log-odds of each label under a fitted estimator, `(rows, labels)`: from its probabilities or, without these, its
    decision function. The predictions of a regressor are taken as probabilities.

    # Raises

    `ValueError` if it has no scores, or they are not finite numbers of this shape.
    """
    name = type(estimator).__name__
    decisions = _logistic_decisions(estimator, X, num_labels)
    if decisions is not None:
        return torch.from_numpy(decisions).clamp(-_MOST, _MOST).float()
    if is_regressor(estimator):
        method, found = "predict", estimator.predict(X)
    elif hasattr(estimator, "predict_proba"):
        method, found = "predict_proba", estimator.predict_proba(X)
    elif _one_a_label(estimator, num_labels):
        # Each label has an estimator; constant labels have one with `predict_proba`.
        return torch.cat([log_odds(single, X, 1) for single in estimator.estimators_], dim=1)
    elif hasattr(estimator, "decision_function"):
        method, found = "decision_function", estimator.decision_function(X)
    else:
        raise ValueError(
            f"estimator: {name} gives labels without scores, as it has neither predict_proba nor decision_function; "
            "choose a setting or a classifier that has one of them."
        )
    if isinstance(found, list):
        # A list of one array for each label, with a column for each class in the training data.
        found = numpy.stack(
            [_of_yes(columns, classes) for columns, classes in zip(found, estimator.classes_, strict=True)], axis=1
        )
    found = numpy.asarray(found.toarray() if sparse.issparse(found) else found)
    if num_labels == 1 and method == "predict_proba" and found.shape[1:] == (2,):
        found = found[:, 1]
    if found.shape != (len(found), num_labels) and found.shape != (num_labels * len(found),):
        raise ValueError(
            f"estimator: {method} of {name} gives an array of shape {found.shape}, where one of (rows, labels) with "
            f"{num_labels} labels, or a list of an array a label, is needed."
        )
    dtype = numpy.float32 if method == "decision_function" else numpy.float64
    scores = torch.from_numpy(found.astype(dtype).reshape(-1, num_labels))
    if not scores.isfinite().all():
        raise ValueError(f"estimator: {method} of {name} gives scores that are no finite numbers.")
    return scores if method == "decision_function" else _logit(scores)


def _one_a_label(estimator: Any, num_labels: int) -> bool:
    return isinstance(estimator, _ONE_A_LABEL) and num_labels > 1 and len(estimator.estimators_) == num_labels


def _of_yes(columns: Any, classes: Any) -> numpy.ndarray:
    """The column of the class 1; 0 if the training data do not have it."""
    columns = columns.toarray() if sparse.issparse(columns) else columns
    return columns[:, list(classes).index(1)] if 1 in classes else numpy.zeros(len(columns))


def _logit(probabilities: torch.Tensor) -> torch.Tensor:
    return probabilities.clamp(LEAST, 1 - LEAST).logit().float()
