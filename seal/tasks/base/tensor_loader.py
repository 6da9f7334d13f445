"""A data loader that takes batches from a table of tensors instead of collecting instances."""

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Optional, Union

import numpy
import torch
import torch.distributed as dist
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import DataLoader, DatasetReader, Instance, TensorDict, Vocabulary
from allennlp.nn.util import move_to_device
from scipy import sparse

from seal.common.setting_checks import check_range
from seal.files.matrices import Matrix
from seal.tasks.base.fields import NamedColumns, NamesField

#: A sparse matrix in memory is converted to a dense one up to this size, since dense rows are indexed faster.
DENSE_BYTES = 2**30


class TensorTable:
    """
    A split of a data set as a few matrices with the same rows, from which the data loader `tensors` takes batches.

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

    def __len__(self) -> int:
        return len(self.source)

    def index_with(self, vocab: Vocabulary) -> None:
        """Reorders the columns to the order of the vocabulary."""
        for name, columns in list(self.columns.items()):
            order = columns.order(vocab)
            if not (order == numpy.arange(len(order))).all():
                self._matrices[name] = self._matrices[name][:, order]
                self.columns[name] = columns.ordered(order)

    def start_pass(self) -> None:
        """A subclass may draw the random numbers of a pass over the rows here."""

    def check_for_scores(self) -> None:
        """A subclass raises a `ConfigurationError` if its random numbers would change scores from pass to pass."""

    def batch(self, rows: numpy.ndarray) -> dict[str, torch.Tensor]:
        """The given rows of every matrix, in float32."""
        return {name: _rows(matrix, rows) for name, matrix in self._matrices.items()}


def _held(matrix: Matrix) -> Union[torch.Tensor, "sparse.csr_array"]:
    if isinstance(matrix, numpy.ndarray):
        return torch.from_numpy(matrix)
    if matrix.shape[0] * matrix.shape[1] * matrix.dtype.itemsize > DENSE_BYTES:
        return sparse.csr_array(matrix)
    return torch.from_numpy(matrix.toarray())


def _rows(matrix: Union[torch.Tensor, "sparse.csr_array"], rows: numpy.ndarray) -> torch.Tensor:
    if isinstance(matrix, torch.Tensor):
        return matrix.index_select(0, torch.from_numpy(rows)).float()
    return torch.from_numpy(dense_rows(matrix, rows))


def dense_rows(matrix: "sparse.csr_array", rows: numpy.ndarray) -> numpy.ndarray:
    """The given rows of a sparse matrix as a dense one, `(rows, columns)`, in float32; faster than SciPy's indexing."""
    starts, ends = matrix.indptr[rows], matrix.indptr[rows + 1]
    lengths = ends - starts
    begins = numpy.cumsum(lengths) - lengths
    places = numpy.repeat(starts - begins, lengths) + numpy.arange(lengths.sum())
    dense = numpy.zeros((len(rows), matrix.shape[1]), dtype=numpy.float32)
    dense[numpy.repeat(numpy.arange(len(rows)), lengths), matrix.indices[places]] = matrix.data[places]
    return dense


@DataLoader.register("tensors")
class TensorLoader(DataLoader):
    """
    A data loader for readers of tables, such as `seal_multilabel`. It takes a batch of rows from the table by one index
    operation, which is many times faster than collecting instances.

    With `distributed`, worker `i` of `n` has the rows `i`, `i + n`, `i + 2n`, ...

    # Parameters

    reader, data_path : given by AllenNLP
        The reader's `read_table(path)` returns a `TensorTable`; its first `max_instances` rows are used.
    batch_size : `int`, optional (default = `32`)
    shuffle : `bool`, optional (default = `False`)
        Whether each epoch has a new random order.
    drop_last : `bool`, optional (default = `False`)
        Whether to drop a last batch that is smaller than the others.
    batches_per_epoch : `int`, optional (default = `None`)
        The number of batches in an epoch, which may be several passes over the rows, the last one cut short. `None`: an
        epoch is one pass.
    cuda_device : `int` or `torch.device`, optional

    # Raises

    `ConfigurationError` if the reader has no `read_table`, or the batch size or number of batches is less than 1.
    """

    def __init__(
        self,
        reader: DatasetReader,
        data_path: Any,
        batch_size: int = 32,
        shuffle: bool = False,
        drop_last: bool = False,
        batches_per_epoch: Optional[int] = None,
        cuda_device: Optional[int] = None,
    ) -> None:
        if not hasattr(reader, "read_table"):
            raise ConfigurationError(
                "data_loader.type: 'tensors' needs a reader of tables, such as 'seal_multilabel', and "
                f"{type(reader).__name__} is not one: leave the type out."
            )
        check_range("data_loader.batch_size", batch_size, least=1)
        check_range("data_loader.batches_per_epoch", batches_per_epoch, least=1)
        #: The reader, as in AllenNLP's loaders.
        self.reader = reader
        self.batches_per_epoch = batches_per_epoch
        self._table: TensorTable = reader.read_table(data_path)
        self._max_instances: Optional[int] = reader.max_instances
        self._batch_size = batch_size
        self._shuffle = shuffle
        self._drop_last = drop_last
        self._device = None if cuda_device is None else torch.device(cuda_device)
        # The numbers of the table's rows that are used; `None`: all.
        self._only: Optional[torch.Tensor] = None

    @property
    def num_rows(self) -> int:
        """The number of rows over all workers."""
        return len(self._all_rows())

    def with_rows(self, places: torch.Tensor) -> "TensorLoader":
        """A loader with the same settings for some of this loader's rows, given by their indices among them."""
        some = copy.copy(self)
        some._only = self._all_rows()[places]
        return some

    def with_table(self, table: TensorTable) -> "TensorLoader":
        """A loader with the same settings for all rows of another table."""
        other = copy.copy(self)
        other._table, other._max_instances, other._only = table, None, None
        return other

    def table_and_rows(self) -> tuple[TensorTable, torch.Tensor]:
        """The table and the numbers of its rows that the loaders of all workers use."""
        return self._table, self._all_rows()

    def check_for_scores(self) -> None:
        """Raises a `ConfigurationError` if the data differ from pass to pass, so that scores would vary randomly."""
        self._table.check_for_scores()

    def _all_rows(self) -> torch.Tensor:
        return torch.arange(len(self._table))[: self._max_instances] if self._only is None else self._only

    def _rows(self) -> torch.Tensor:
        rows = self._all_rows()
        return rows[dist.get_rank() :: dist.get_world_size()] if is_distributed() else rows

    def __len__(self) -> int:
        return self._batches_of_pass() if self.batches_per_epoch is None else self.batches_per_epoch

    def _batches_of_pass(self) -> int:
        batches, rest = divmod(len(self._rows()), self._batch_size)
        return batches + (rest > 0 and not self._drop_last)

    def __iter__(self) -> Iterator[TensorDict]:
        if not torch.is_grad_enabled():  # As in validation and in `allennlp evaluate`.
            self.check_for_scores()
        size = self._batches_of_pass()
        if size == 0 and self.batches_per_epoch is not None:
            raise ConfigurationError("data_loader.drop_last: the data have fewer rows than a batch has; leave it out.")
        passes = 1 if self.batches_per_epoch is None else -(-self.batches_per_epoch // size)
        # All random numbers are drawn before the first batch: a recovered run skips batches without the random numbers
        # that dropout drew between them.
        drawn = [self._drawn_pass() for _ in range(passes)]
        batches = ((table, part) for table, rows in drawn for part in rows.split(self._batch_size)[:size])
        for table, part in itertools.islice(batches, len(self)):
            batch: TensorDict = {**table.batch(part.numpy())}
            yield batch if self._device is None else move_to_device(batch, self._device)

    def _drawn_pass(self) -> tuple[TensorTable, torch.Tensor]:
        rows = self._rows()
        if self._shuffle:
            rows = rows[torch.randperm(len(rows))]
        # A copy: several passes may run at once, each with its own random numbers.
        table = copy.copy(self._table)
        table.start_pass()
        return table, rows

    def iter_instances(self) -> Iterator[Instance]:
        """Yields an instance without values for each row; the vocabulary reads the columns' names from the first."""
        columns = list(self._table.columns.values())
        for row in range(len(self._table))[: self._max_instances]:
            yield Instance({"metadata": NamesField(self._table.source[row], columns if row == 0 else ())})

    def index_with(self, vocab: Vocabulary) -> None:
        self._table.index_with(vocab)

    def set_target_device(self, device: torch.device) -> None:
        self._device = device
