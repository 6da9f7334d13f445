"""
Matrices, dense or sparse, whose rows come in pieces: in memory, or in files that are mapped.
"""

from collections.abc import Iterator
from typing import Optional, Union

import numpy
from scipy import sparse

from seal.files.array_cache import Arrays, is_mapped

Matrix = Union[numpy.ndarray, "sparse.csr_array"]

#: Values of a matrix that are looked at together.
PIECE = 2**20


class GrowingMatrix:
    """
    A matrix to which rows are added, dense until some of them are sparse.

    # Parameters

    arrays : `Arrays`
        Where it is kept: as `name`, or as `name.values`, `name.columns` and `name.starts` (those of CSR).
    name : `str`
    width : `int`
        The number of columns.
    """

    def __init__(self, arrays: Arrays, name: str, width: int) -> None:
        self._arrays, self._name, self._width = arrays, name, width
        # The number of stored values, once it is sparse.
        self._stored: Optional[int] = None

    def add(self, part: Matrix) -> None:
        if self._stored is None and sparse.issparse(part):
            self._make_sparse()
        if self._stored is None:
            self._arrays.append(self._name, part)
            return
        part = sparse.csr_array(part)
        self._arrays.append(f"{self._name}.values", part.data)
        self._arrays.append(f"{self._name}.columns", part.indices.astype(numpy.int32, copy=False))
        self._arrays.append(f"{self._name}.starts", part.indptr[1:].astype(numpy.int64) + self._stored)
        self._stored += part.nnz

    def _make_sparse(self) -> None:
        self._stored = 0
        self._arrays.append(f"{self._name}.starts", numpy.zeros(1, numpy.int64))
        if self._name in self._arrays:
            dense = self._arrays.array(self._name)
            for start, end in pieces(len(dense), self._width):
                self.add(dense[start:end])
            self._arrays.remove(self._name)

    def write(self, start: int, values: numpy.ndarray) -> None:
        """Puts other values in the place of rows, or of stored values, from one on."""
        self._arrays.write(self._name if self._stored is None else f"{self._name}.values", start, values)

    def matrix(self) -> Matrix:
        return matrix_of(self._arrays, self._name, self._width)


def matrix_of(arrays: Arrays, name: str, width: int) -> Matrix:
    """The matrix that a `GrowingMatrix` has left in the arrays; where these are mapped, so is it."""
    if name in arrays:
        return arrays.array(name)
    values, columns, starts = (arrays.array(f"{name}.{part}") for part in ("values", "columns", "starts"))
    if not is_mapped(starts):
        return sparse.csr_array((values, columns, starts), shape=(len(starts) - 1, width))
    # SciPy's constructor looks at all of them, and copies some.
    matrix = sparse.csr_array((len(starts) - 1, width), dtype=values.dtype)
    matrix.data, matrix.indices, matrix.indptr = values, columns, starts
    return matrix


def pieces(rows: int, width: int = 1) -> Iterator[tuple[int, int]]:
    """Begin and end of pieces of some rows of so many values."""
    step = max(1, PIECE // max(1, width))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)
