"""Dense or sparse matrices in pieces of rows."""

from collections.abc import Iterator, Sequence
from typing import Union

import numpy
from scipy import sparse

Matrix = Union[numpy.ndarray, "sparse.csr_array"]

#: The most values of a matrix that are processed at once.
PIECE = 2**20


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """Joins pieces of rows, `(rows, columns)` each, to a matrix, which is sparse if one of the pieces is."""
    if not any(sparse.issparse(part) for part in parts):
        return numpy.concatenate(parts)
    return sparse.csr_array(sparse.vstack([sparse.csr_array(part) for part in parts], format="csr"))


def pieces(rows: int, width: int = 1) -> Iterator[tuple[int, int]]:
    """Yields `(start, end)` of pieces of rows with `width` values each, of at most `PIECE` values per piece."""
    step = max(1, PIECE // max(1, width))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)
