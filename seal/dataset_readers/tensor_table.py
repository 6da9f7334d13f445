from typing import Union

import numpy
import torch
from allennlp.data import TensorDict, Vocabulary
from scipy import sparse

from seal.dataset_readers.named_columns import NamedColumns

#: A sparse matrix is made dense up to this size: rows are taken faster from a dense one.
DENSE_BYTES = 2**30

Matrix = Union[numpy.ndarray, sparse.csr_array]


class TensorTable:
    """
    A split of a data set as a few matrices with the same rows, from which the data loader `tensors` takes batches. No
    value becomes a Python object.

    # Parameters

    matrices : `dict[str, Matrix]`
        The matrices, `(rows, columns)`, dense or sparse, by their names in the model. In batches they are float32.
    columns : `dict[str, NamedColumns]`
        The names of the matrices' columns.
    source : `list[str]`
        `file:line` of each row.
    """

    def __init__(self, matrices: dict[str, Matrix], columns: dict[str, NamedColumns], source: list[str]) -> None:
        self.columns = columns
        self.source = source
        self._matrices = {name: _held(matrix) for name, matrix in matrices.items()}

    def __len__(self) -> int:
        return len(self.source)

    def index_with(self, vocab: Vocabulary) -> None:
        """Brings the columns into the order of the vocabulary."""
        for name, columns in list(self.columns.items()):
            order = columns.order(vocab)
            if not (order == numpy.arange(len(order))).all():
                matrix = self._matrices[name]
                self._matrices[name] = matrix[:, order]
                self.columns[name] = columns.ordered(order)

    def start_pass(self) -> None:
        """Called before every pass over the rows, so that a subclass can draw random numbers for it."""

    def check_for_scores(self) -> None:
        """For a subclass that draws random numbers: raises a `ConfigurationError` where they would decide scores."""

    def batch(self, rows: numpy.ndarray) -> TensorDict:
        """The given rows of every matrix, in float32."""
        return {name: _rows(matrix, rows) for name, matrix in self._matrices.items()}


def _held(matrix: Matrix) -> Union[torch.Tensor, sparse.csr_array]:
    if not sparse.issparse(matrix):
        return torch.from_numpy(matrix)
    if matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize > DENSE_BYTES:
        return sparse.csr_array(matrix)
    return torch.from_numpy(matrix.toarray())


def _rows(matrix: Union[torch.Tensor, sparse.csr_array], rows: numpy.ndarray) -> torch.Tensor:
    if isinstance(matrix, torch.Tensor):
        return matrix.index_select(0, torch.from_numpy(rows)).float()
    return torch.from_numpy(matrix[rows].toarray()).float()
