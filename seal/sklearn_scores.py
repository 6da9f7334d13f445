"""What `seal.sklearn` needs of foreign things: the scores of any estimator, matrices of labels, and equal rows."""

from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy
import torch
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.utils import check_array, get_tags
from sklearn.utils.extmath import safe_sparse_dot

from seal.common.equal_contents import digest

#: Probabilities of 0 and 1 (forests have such) have no log-odds; those of labels that never or always occur are as far
#: from 0 as these.
LEAST = 1e-4
#: By what a matrix says that a row lacks a label, and that it has it.
ENCODINGS = ((0, 1), (-1, 1), (1, 2))


def tags_of(estimator: Any) -> Any:
    """Scikit-learn's tags of an estimator; `None` for classes that have none."""
    try:
        return get_tags(estimator)
    except (AttributeError, TypeError):
        return None


def is_regressor(estimator: Any) -> bool:
    return getattr(tags_of(estimator), "estimator_type", None) == "regressor"


def check_estimator(estimator: Any) -> None:
    """Raises `ValueError` if this is no estimator that learns from labels."""
    name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
    if isinstance(estimator, type) or not hasattr(estimator, "fit") or not hasattr(estimator, "get_params"):
        hint = f"; give {name}(...) in place of the class" if isinstance(estimator, type) else ""
        raise ValueError(f"estimator: a classifier with fit and get_params is needed, found {name}{hint}.")
    kind = getattr(tags_of(estimator), "estimator_type", None)
    if kind not in (None, "classifier", "regressor"):
        raise ValueError(f"estimator: a classifier or regressor is needed, found {name}, of the kind '{kind}'.")


class LabelScorer:
    """
    An estimator that gives each label a score, whatever it was made for: of label sets, of one label (it is then fitted
    to each of them), a regressor (of 0 and 1, whose predictions are taken as probabilities), or of no declared kind.

    Labels that no row has, or all, are known by that; estimators that cannot learn them are fitted to the others alone.

    # Parameters

    estimator : a classifier or regressor
    """

    def __init__(self, estimator: Any) -> None:
        tags = tags_of(estimator)
        each = MultiOutputRegressor(estimator) if is_regressor(estimator) else OneVsRestClassifier(estimator)
        together = tags is None or tags.target_tags.multi_output
        together = together or bool(tags.classifier_tags and tags.classifier_tags.multi_label)
        # Tags may be silent about what a class can do: the other form is tried where the first fails.
        self._forms = [estimator, each] if together else [each, estimator]
        self._given = estimator
        self.estimator: Any = None

    def fit(self, X: Any, gold: numpy.ndarray) -> "LabelScorer":
        """Fits a copy of the estimator to `gold`, `(rows, labels)`, boolean; raises what it raises."""
        always, varies = gold.all(axis=0), gold.any(axis=0) & ~gold.all(axis=0)
        self._constant = numpy.where(always, 1.0, 0.0)
        self._varies = varies
        choices = [numpy.ones_like(varies)]
        if varies.any() and not varies.all():
            choices.append(varies)
        first_error = None
        for form in self._forms:
            for columns in choices:
                fitted = clone(form)
                try:
                    fitted.fit(X, gold[:, columns].astype(int))
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
            found = log_odds(self.estimator, X, int(self._columns.sum()))
        except Exception as error:
            raise _in_one_sentence(error, self._given, "score rows") from error
        if self._varies.all():
            return found
        scores = _logit(torch.from_numpy(self._constant)).repeat(len(found), 1)
        scores[:, torch.from_numpy(self._varies)] = found[:, torch.from_numpy(self._varies[self._columns])]
        return scores


class SetScorer:
    """
    A classifier of whole label sets, whose classes are those that its training rows have: the powerset of an estimator.

    # Parameters

    estimator : a classifier
        Of several labels: its form for classes, which is itself or what it fits to each label.
    sets : `numpy.ndarray`, `(sets, labels)`, boolean
        Those that may be asked for.
    """

    def __init__(self, estimator: Any, sets: numpy.ndarray) -> None:
        several = isinstance(estimator, (MultiOutputClassifier, ClassifierChain))
        self._given = estimator.estimator if several else estimator
        self.sets = sets
        self._places = {row.tobytes(): place for place, row in enumerate(sets)}

    def fit(self, X: Any, gold: numpy.ndarray) -> "SetScorer":
        """Raises what the estimator raises, and `ValueError` if it has no probabilities."""
        classes = numpy.array([self._places[row.tobytes()] for row in gold])
        self.estimator = clone(self._given).fit(X, classes)
        if not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"{type(self._given).__name__} has no predict_proba")
        return self

    def log_prob(self, X: Any) -> torch.Tensor:
        """Of each set in nats, NaN of those that no row of `fit` has: `(rows, sets)`."""
        found = numpy.log(numpy.clip(_of_classes(self.estimator, X), LEAST, 1.0))
        whole = numpy.full((len(found), len(self.sets)), numpy.nan, dtype=numpy.float32)
        whole[:, self.estimator.classes_] = found
        return torch.from_numpy(whole)


def _of_classes(estimator: Any, X: Any) -> numpy.ndarray:
    """`predict_proba`, `(rows, classes)`; of logistic regressions, one a class, by one product for all of them."""
    singles = getattr(estimator, "estimators_", [])
    linear = isinstance(estimator, OneVsRestClassifier) and all(type(each) is LogisticRegression for each in singles)
    if not linear or len(singles) != len(estimator.classes_):
        return estimator.predict_proba(X)
    weights = numpy.concatenate([each.coef_ for each in singles])
    bias = numpy.concatenate([each.intercept_ for each in singles])
    found = expit(safe_sparse_dot(check_array(X, accept_sparse=True), weights.T, dense_output=True) + bias)
    return found / found.sum(axis=1, keepdims=True)


def _in_one_sentence(error: Exception, estimator: Any, what: str) -> Exception:
    """The error itself where it says what is wrong with the values; scikit-learn has no other kind for that."""
    if isinstance(error, (ValueError, TypeError)):
        return error
    return ValueError(f"estimator: {type(estimator).__name__} cannot {what}: {type(error).__name__}: {error}")


def log_odds(estimator: Any, X: Any, num_labels: int) -> torch.Tensor:
    """
    A fitted estimator's log-odds of each label: `(rows, labels)`, from its probabilities, or its decision function
    where it has none; from the predictions of a regressor, as probabilities.

    # Raises

    `ValueError` if it has no scores, or they are no finite numbers of this shape.
    """
    name = type(estimator).__name__
    if is_regressor(estimator):
        method, found = "predict", estimator.predict(X)
    elif hasattr(estimator, "predict_proba"):
        method, found = "predict_proba", estimator.predict_proba(X)
    elif _one_a_label(estimator, num_labels):
        # Each has its own scores: labels that never or always occur are known by theirs.
        return torch.cat([log_odds(single, X, 1) for single in estimator.estimators_], dim=1)
    elif hasattr(estimator, "decision_function"):
        method, found = "decision_function", estimator.decision_function(X)
    else:
        raise ValueError(
            f"estimator: {name} gives labels without scores, as it has neither predict_proba nor decision_function; "
            "choose a setting or a classifier that has one of them."
        )
    if isinstance(found, list):
        # One array a label, with a column for each class that was seen.
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
    kinds = (OneVsRestClassifier, MultiOutputClassifier)
    return isinstance(estimator, kinds) and num_labels > 1 and len(estimator.estimators_) == num_labels


def _of_yes(columns: Any, classes: Any) -> numpy.ndarray:
    columns = columns.toarray() if sparse.issparse(columns) else columns
    return columns[:, list(classes).index(1)] if 1 in classes else numpy.zeros(len(columns))


def _logit(probabilities: torch.Tensor) -> torch.Tensor:
    return probabilities.clamp(LEAST, 1 - LEAST).logit().float()


class LabelMatrix(NamedTuple):
    """`gold`, `(rows, labels)`, boolean, and the two numbers that stood for labels, of which the second is yes."""

    gold: numpy.ndarray
    encoding: tuple[int, int]


def read_labels(y: Any) -> LabelMatrix | None:
    """
    The label sets in `y`, an array, sparse matrix or table of `(rows, labels)`; `None` where it is one column.

    # Raises

    `ValueError` naming the first cell that is none of the numbers of one of `ENCODINGS`.
    """
    table = y.toarray() if sparse.issparse(y) else y
    try:
        table = numpy.asarray(table)
    except ValueError:
        raise ValueError(
            "y: rows have different lengths; lists of labels become a matrix by "
            "sklearn.preprocessing.MultiLabelBinarizer().fit_transform(y)."
        ) from None
    if table.dtype.kind in "US" and isinstance(y, (list, tuple)):
        # NumPy makes texts of the numbers beside a text.
        table = numpy.asarray(y, dtype=object)
    if table.ndim < 2 or (table.ndim == 2 and table.shape[1] == 1):
        return None
    if table.ndim > 2 or 0 in table.shape:
        raise ValueError(f"y: a matrix of (rows, labels) is needed, found the shape {table.shape}.")
    numbers = table
    if table.dtype.kind not in "biu":
        numbers = numpy.array([[_number(cell) for cell in row] for row in table], dtype=float).reshape(table.shape)
        wrong = numpy.argwhere(~numpy.isfinite(numbers))
        if len(wrong):
            row, column = wrong[0]
            cell = table[row, column].item() if isinstance(table[row, column], numpy.generic) else table[row, column]
            raise ValueError(
                f"y: row {row}, column {column} (from 0) is {cell!r}, where a matrix of labels has 0 or "
                "1; leave out rows of which a label is not known, and make names of labels such a matrix by "
                "sklearn.preprocessing.MultiLabelBinarizer."
            )
    values = numpy.unique(numbers)
    for encoding in ENCODINGS:
        if set(values.tolist()) <= set(encoding):
            return LabelMatrix(numbers == encoding[1], encoding)
    usual = numpy.isin(numbers, (0, 1) if (numbers == 0).any() else (-1, 1))
    row, column = numpy.argwhere(~usual)[0]
    raise ValueError(
        f"y: a matrix of labels has 0 and 1 (or -1 and 1, or 1 and 2) alone, found {_few(values)} "
        f"({numbers[row, column]:g} in row {row}, column {column}, from 0); leave out rows of which a label is not "
        "known. Classes, one a row, are a 1d array."
    )


def _few(values: numpy.ndarray) -> str:
    shown = [f"{value:g}" for value in values[:4]]
    return ", ".join(shown) + (f" and {len(values) - 4} more" if len(values) > 4 else "")


def _number(cell: Any) -> float:
    """NaN of what is no number."""
    try:
        return numpy.nan if isinstance(cell, (str, bytes)) else float(cell)
    except (TypeError, ValueError):
        return numpy.nan


def equal_rows(X: Any) -> numpy.ndarray:
    """For each row of whatever an estimator takes the number of its content, by first appearance: `(rows,)`."""
    numbers: dict[Hashable, int] = {}
    return numpy.array([numbers.setdefault(key, len(numbers)) for key in _contents(X)], dtype=int)


def _contents(X: Any) -> Iterator[Hashable]:
    if sparse.issparse(X):
        rows = X.tocsr(copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        for start, end in pairwise(rows.indptr):
            yield digest(rows.indices[start:end], rows.data[start:end])
        return
    values = X
    if isinstance(X, (list, tuple)) and not (X and isinstance(X[0], (str, bytes, dict))):
        try:
            values = numpy.asarray(X)
        except ValueError:
            pass
    elif not isinstance(X, (list, tuple)):
        values = numpy.asarray(X)
    for row in values:
        yield _content(row)


def _content(value: Any) -> Hashable:
    """What equal rows and cells have in common."""
    if isinstance(value, (numpy.ndarray, numpy.number)) and value.dtype != object:
        return digest(numpy.asarray(value))
    if isinstance(value, numpy.ndarray):
        return tuple(map(_content, value))
    return value if isinstance(value, (str, bytes)) else repr(value)
