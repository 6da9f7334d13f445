from collections.abc import Sequence
from typing import Optional, Union

import numpy
import torch
from allennlp.data import TensorDict, Vocabulary
from scipy import sparse

from seal.dataset_readers.fields import NamedColumns
from seal.files.kept_arrays import Matrix, is_mapped

#: A sparse matrix in memory is made dense up to this size: rows are taken faster from a dense one.
DENSE_BYTES = 2**30


class TensorTable:
    """
    A split of a data set as a few matrices with the same rows, from which the data loader `tensors` takes batches. No
    value becomes a Python object. Matrices of mapped files stay as they are, so that memory is flat in the number of
    rows.

    # Parameters

    matrices : `dict[str, Matrix]`
        The matrices, `(rows, columns)`, dense or sparse, by their names in the model. In batches they are float32.
    columns : `dict[str, NamedColumns]`
        The names of the matrices' columns.
    source : `Sequence[str]`
        `file:line` of each row.
    """

    def __init__(self, matrices: dict[str, Matrix], columns: dict[str, NamedColumns], source: Sequence[str]) -> None:
        self.columns = columns
        self.source = source
        self._matrices = {name: _held(matrix) for name, matrix in matrices.items()}
        self._mapped = {name for name, matrix in matrices.items() if is_mapped(getattr(matrix, "indices", matrix))}
        # Of a mapped matrix: its column of each column of a batch, where that is another.
        self._orders: dict[str, numpy.ndarray] = {}

    def __len__(self) -> int:
        return len(self.source)

    def index_with(self, vocab: Vocabulary) -> None:
        """Brings the columns into the order of the vocabulary."""
        for name, columns in list(self.columns.items()):
            order = columns.order(vocab)
            if not (order == numpy.arange(len(order))).all():
                if name in self._mapped:
                    before = self._orders.get(name)
                    self._orders[name] = order if before is None else before[order]
                else:
                    self._matrices[name] = self._matrices[name][:, order]
                self.columns[name] = columns.ordered(order)

    def start_pass(self) -> None:
        """Called before every pass over the rows, so that a subclass can draw random numbers for it."""

    def check_for_scores(self) -> None:
        """For a subclass that draws random numbers: raises a `ConfigurationError` where they would decide scores."""

    def batch(self, rows: numpy.ndarray) -> TensorDict:
        """The given rows of every matrix, in float32."""
        return {name: _rows(matrix, rows, self._orders.get(name)) for name, matrix in self._matrices.items()}


def _held(matrix: Matrix) -> Union[torch.Tensor, sparse.csr_array]:
    if not sparse.issparse(matrix):
        return torch.from_numpy(matrix)
    if is_mapped(matrix.data):
        return matrix
    if matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize > DENSE_BYTES:
        return sparse.csr_array(matrix)
    return torch.from_numpy(matrix.toarray())


def _rows(
    matrix: Union[torch.Tensor, sparse.csr_array], rows: numpy.ndarray, order: Optional[numpy.ndarray]
) -> torch.Tensor:
    if isinstance(matrix, torch.Tensor):
        found = matrix.index_select(0, torch.from_numpy(rows))
    else:
        found = torch.from_numpy(dense_rows(matrix, rows))
    return (found if order is None else found[:, torch.from_numpy(order)]).float()


def dense_rows(matrix: sparse.csr_array, rows: numpy.ndarray) -> numpy.ndarray:
    """Rows of a sparse matrix, `(rows, columns)`, in float32; in less time than SciPy takes to cut them out."""
    starts, ends = matrix.indptr[rows], matrix.indptr[rows + 1]
    lengths = ends - starts
    begins = numpy.cumsum(lengths) - lengths
    places = numpy.repeat(starts - begins, lengths) + numpy.arange(lengths.sum())
    found = numpy.zeros((len(rows), matrix.shape[1]), dtype=numpy.float32)
    found[numpy.repeat(numpy.arange(len(rows)), lengths), matrix.indices[places]] = matrix.data[places]
    return found
