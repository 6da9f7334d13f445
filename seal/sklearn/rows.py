"""Finds equal rows and missing texts in the `X` of an estimator: arrays, tables, sparse matrices or lists."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy
from scipy import sparse

from seal.common.equal_contents import digest


@contextmanager
def telling_missing_text(X: Any) -> Iterator[None]:
    """Adds to an error of an estimator the row of `X` that has no text, if there is one."""
    try:
        yield
    except Exception as error:
        place = missing_text(X)
        if place is None:
            raise
        raise ValueError(f"X: {place} has no text; leave the row out, or write an empty text ('').") from error


def missing_text(X: Any) -> str | None:
    """
    The place of the first missing cell among texts, such as `None` or NaN in a list, array or column that has texts:
    "row 3 (from 0)" or "row 3 (from 0), column 'title'"; `None` where no text is missing.
    """
    if sparse.issparse(X) or getattr(X, "ndim", 1) > 2:
        return None
    try:
        cells = numpy.array(X, dtype=object)
    except ValueError:
        return None
    if cells.ndim > 2:
        return None
    names = getattr(X, "columns", range(cells.shape[1] if cells.ndim == 2 else 1))
    for name, column in zip(names, cells.reshape(len(cells), -1).T):
        is_text = numpy.array([isinstance(cell, (str, bytes)) for cell in column])
        missing = [row for row in numpy.flatnonzero(~is_text) if _is_missing(column[row])]
        if is_text.any() and missing:
            return f"row {missing[0]} (from 0)" + (f", column {name!r}," if cells.ndim == 2 else "")
    return None


def _is_missing(cell: Any) -> bool:
    # NaN differs from itself. Comparisons with pandas' NA are NA.
    return cell is None or type(cell).__name__ == "NAType" or (isinstance(cell, float) and cell != cell)


def equal_rows(X: Any) -> numpy.ndarray:
    """A number for each row of `X`, equal for equal rows, in the order of their first appearance: `(rows,)`."""
    numbers: dict[Hashable, int] = {}
    return numpy.array([numbers.setdefault(key, len(numbers)) for key in _contents(X)], dtype=int)


def _contents(X: Any) -> Iterator[Hashable]:
    """A hashable key for each row, equal for equal rows."""
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
    """A hashable key of a row or cell, equal for equal ones."""
    if isinstance(value, (numpy.ndarray, numpy.number)) and value.dtype != object:
        return digest(numpy.asarray(value))
    if isinstance(value, numpy.ndarray):
        return tuple(map(_content, value))
    return value if isinstance(value, (str, bytes)) else repr(value)
