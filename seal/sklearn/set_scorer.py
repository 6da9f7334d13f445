"""A classifier of whole label sets by ridge regression, in closed form."""

from typing import Any

import numpy
import torch
from scipy import linalg, sparse
from sklearn.utils import check_array
from sklearn.utils.extmath import safe_sparse_dot

#: The penalty of the ridge regression, as a share of the mean squared norm of a row.
PENALTY = 0.3
#: The largest system of equations that is solved, in about a second.
MOST_EQUATIONS = 2000
#: Features are standardised if at least this share of their values is not 0.
SPARSE = 0.2


class SetScorer:
    """
    Ridge regression from the features of a row to its label set, with a column of 0 and 1 for each set: with rows `X`
    and sets `S`, both less their means, and `c` times the mean squared norm of a row in `X`,

    `scores(x) = mean(S) + x' (X'X + c I)^-1 X' S = mean(S) + x' X' (XX' + c I)^-1 S`.

    One linear system for all sets, the smaller of the two, takes a fraction of the time of a logistic regression for
    each set. Features that are mostly 0, such as those of words, are not standardised, and missing values are 0. Other
    features are standardised, and missing values are the mean.

    # Parameters

    sets : `numpy.ndarray`, `(sets, labels)`, boolean
        The label sets that have a score.
    num_rows : `int`
        The number of all training rows, of which `fit` may get a part. With the number of features it decides whether
        the system is too large.
    """

    def __init__(self, sets: numpy.ndarray, num_rows: int) -> None:
        self.sets = sets
        self._num_rows = num_rows
        self._places = {row.tobytes(): place for place, row in enumerate(sets)}

    def fit(self, X: Any, gold: numpy.ndarray, weights: numpy.ndarray | None = None) -> "SetScorer":
        """
        Fits the regression; `gold` is `(rows, labels)`, boolean. Raises `ValueError` if `X` is not a matrix of numbers,
        or too large.
        """
        X = _read(X)
        if min(self._num_rows, X.shape[1]) > MOST_EQUATIONS:
            raise ValueError(
                f"{self._num_rows} rows of {X.shape[1]} features are more than {MOST_EQUATIONS} in both directions"
            )
        filled = X.nnz if sparse.issparse(X) else numpy.count_nonzero(X)
        self._is_sparse = filled < SPARSE * X.shape[0] * X.shape[1]
        if not self._is_sparse:
            X = _dense(X)
            known = numpy.ma.masked_invalid(X)
            self._center = numpy.ma.filled(numpy.ma.average(known, axis=0, weights=weights), 0.0)
            squares = numpy.ma.average((known - self._center) ** 2, axis=0, weights=weights)
            spread = numpy.ma.filled(squares, 0.0) ** 0.5
            self._scale = numpy.where(spread > 0, spread, 1.0)
        X = self._standardised(X)
        places = numpy.array([self._places.get(row.tobytes(), -1) for row in gold])
        indicators = numpy.zeros((len(gold), len(self.sets)))
        indicators[numpy.flatnonzero(places >= 0), places[places >= 0]] = 1.0
        self._mean = numpy.average(indicators, axis=0, weights=weights)
        targets = indicators - self._mean
        roots = numpy.ones((len(gold), 1)) if weights is None else numpy.sqrt(weights)[:, None]
        rows = X.multiply(roots).tocsr() if sparse.issparse(X) else X * roots
        least = PENALTY * max(_squared_norms(rows).sum() / (roots**2).sum(), 1e-12)
        if rows.shape[0] <= rows.shape[1]:
            self._basis, self._weights = rows.T, _solved(_dense(rows @ rows.T), least, roots * targets)
        else:
            self._basis, self._weights = None, _solved(_dense(rows.T @ rows), least, _dense(rows.T @ (roots * targets)))
        # Sets without a row have no score.
        self._mean[indicators.sum(axis=0) == 0] = numpy.nan
        return self

    def of(self, X: Any) -> torch.Tensor:
        """The scores of the sets for each row, `(rows, sets)`; NaN for sets without a row in `fit`."""
        X = self._standardised(_read(X))
        if self._basis is not None:
            X = _dense(X @ self._basis)
        scores = safe_sparse_dot(X, self._weights, dense_output=True) + self._mean
        return torch.from_numpy(scores.astype(numpy.float32))

    def _standardised(self, X: Any) -> Any:
        if self._is_sparse:
            return sparse.csr_array(X if sparse.issparse(X) else numpy.nan_to_num(X, nan=0.0))
        return numpy.nan_to_num((_dense(X) - self._center) / self._scale, nan=0.0)


def _read(X: Any) -> Any:
    """`X` as a matrix of numbers; missing values of a sparse matrix become 0."""
    X = check_array(X, accept_sparse="csr", dtype=numpy.float64, ensure_all_finite="allow-nan")
    if sparse.issparse(X) and numpy.isnan(X.data).any():
        X = X.copy()
        X.data = numpy.nan_to_num(X.data, nan=0.0)
    return X


def _dense(matrix: Any) -> numpy.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else numpy.asarray(matrix)


def _squared_norms(rows: Any) -> numpy.ndarray:
    return numpy.asarray(rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else (rows**2).sum(axis=1))


def _solved(matrix: numpy.ndarray, least: float, right: numpy.ndarray) -> numpy.ndarray:
    """`(matrix + least I)^-1 right` for a positive semidefinite matrix, which is overwritten."""
    matrix[numpy.diag_indices_from(matrix)] += least
    return linalg.solve(matrix, right, assume_a="pos", overwrite_a=True, overwrite_b=True)
