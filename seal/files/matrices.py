"""Dense or sparse matrices that grow by pieces of rows, in memory or in memory-mapped files."""

from collections.abc import Iterator
from typing import Optional, Union

import numpy
from scipy import sparse

from seal.files.array_cache import Arrays, is_mapped

Matrix = Union[numpy.ndarray, "sparse.csr_array"]

#: The most values of a matrix that are processed at once.
PIECE = 2**20


class GrowingMatrix:
    """
    A matrix to which rows can be appended. It becomes sparse when the first sparse rows are appended.

    # Parameters

    arrays : `Arrays`
        Stores the matrix: as `name` if dense, or in CSR form as `name.values`, `name.columns` and `name.starts`.
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
        """Overwrites rows, or stored values if the matrix is sparse, from the one at `start` on."""
        self._arrays.write(self._name if self._stored is None else f"{self._name}.values", start, values)

    def matrix(self) -> Matrix:
        return matrix_of(self._arrays, self._name, self._width)


def matrix_of(arrays: Arrays, name: str, width: int) -> Matrix:
    """The matrix that a `GrowingMatrix` has stored in the arrays; memory-mapped if these are."""
    if name in arrays:
        return arrays.array(name)
    values, columns, starts = (arrays.array(f"{name}.{part}") for part in ("values", "columns", "starts"))
    if not is_mapped(starts):
        return sparse.csr_array((values, columns, starts), shape=(len(starts) - 1, width))
    # SciPy's constructor would read all of them, and copy some.
    matrix = sparse.csr_array((len(starts) - 1, width), dtype=values.dtype)
    matrix.data, matrix.indices, matrix.indptr = values, columns, starts
    return matrix


def pieces(rows: int, width: int = 1) -> Iterator[tuple[int, int]]:
    """Yields `(start, end)` of pieces of rows with `width` values each, of at most `PIECE` values per piece."""
    step = max(1, PIECE // max(1, width))
    for start in range(0, rows, step):
        yield start, min(start + step, rows)
