"""Copies data loaders for other data, finds equal inputs, and checks the data loaders of a run."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, Optional, Protocol, runtime_checkable

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader, DatasetReader, Instance
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import TensorField, TextField

from seal.common.equal_contents import content, digest, in_order
from seal.tasks.base import SealModel
from seal.tasks.base.tensor_loader import TensorTable

# The names of the gold arrays of an instance or a row; all others are input.
_GOLD = ("labels", "mask")
# The bytes of rows in memory at once while their inputs are compared.
_BLOCK = 2**24


@runtime_checkable
class RowLoader(Protocol):
    """The interface of data loaders of the rows of a table, such as the loader `tensors`."""

    reader: DatasetReader

    @property
    def num_rows(self) -> int: ...

    def with_rows(self, places: torch.Tensor) -> DataLoader: ...

    def with_table(self, table: Any) -> DataLoader: ...

    def table_and_rows(self) -> tuple[Any, torch.Tensor]: ...

    def check_for_scores(self) -> None: ...


def instances_of(data_loader: DataLoader, otherwise: str) -> list[Instance]:
    """
    The instances of a loader. Raises a `ConfigurationError` with the message `otherwise` if they are not in memory.
    """
    instances = getattr(data_loader, "_instances", None)
    if not isinstance(data_loader, MultiProcessDataLoader) or instances is None:
        raise ConfigurationError(otherwise)
    return instances


def with_instances(data_loader: DataLoader, instances: Sequence[Instance]) -> DataLoader:
    """A copy of the data loader with other instances."""
    other: Any = copy.copy(data_loader)
    other._instances = instances
    other._batch_generator = None
    return other


def restricted(data_loader: Any, places: list[int]) -> DataLoader:
    """A copy of the data loader with some of its instances or rows, given by their indices `places`."""
    if isinstance(data_loader, RowLoader):
        return data_loader.with_rows(torch.tensor(places))
    return with_instances(data_loader, [data_loader._instances[place] for place in places])


def input_of(instance: Instance) -> Optional[int]:
    """
    A hash of an instance's input: of its words, ignoring case, or without words of its arrays without gold. `None` if
    the instance has neither.
    """
    fields = instance.fields
    words = [[token.text for token in field] for field in fields.values() if isinstance(field, TextField)]
    if words:
        return content(words)
    arrays = _without_gold({name: field.tensor for name, field in fields.items() if isinstance(field, TensorField)})
    return digest(*arrays) if arrays else None


def inputs_of_rows(table: TensorTable, rows: numpy.ndarray) -> Iterator[int]:
    """Yields a hash of the input of each of the given rows of a table, reading some megabytes at a time."""
    start, step = 0, 1
    while start < len(rows):
        block = rows[start : start + step]
        # The rows as in the files: the `batch` of a subclass may cut out a random part in each pass.
        arrays = _without_gold(TensorTable.batch(table, block) or table.batch(block))
        for row in zip(*arrays):
            yield digest(*row)
        start += step
        step = max(1, _BLOCK // max(1, sum(array[0].nbytes for array in arrays)))


def _without_gold(arrays: dict[str, Any]) -> list[numpy.ndarray]:
    return [arrays[name].cpu().numpy() for name in sorted(arrays) if name not in _GOLD]


def equal_inputs(data_loader: DataLoader, otherwise: str) -> numpy.ndarray:
    """
    Numbers the inputs of the instances or rows, `(instances,)`: from 0 in the order of their first occurrence; equal
    inputs have the same number. It needs the memory of a few numbers per instance.

    # Raises

    As `instances_of`.
    """
    if isinstance(data_loader, RowLoader):
        table, rows = data_loader.table_and_rows()
        hashes: Iterator[Optional[int]] = inputs_of_rows(table, rows.numpy())
    else:
        hashes = map(input_of, instances_of(data_loader, otherwise))
    # An instance without a hash differs from all others.
    numbers = (place if number is None else number for place, number in enumerate(hashes))
    return in_order(numpy.fromiter(numbers, dtype=numpy.uint64))


def check_loaders(model: SealModel, data_loader: DataLoader, validation_data_loader: Optional[DataLoader]) -> None:
    """
    Checks the data loaders before training.

    # Raises

    `ConfigurationError` if a reader may return longer instances than the model can process, or if the validation data
    differ from pass to pass.
    """
    model.check_reader(getattr(data_loader, "reader", None), "dataset_reader")
    if validation_data_loader is not None:
        model.check_reader(getattr(validation_data_loader, "reader", None), "validation_dataset_reader")
        if isinstance(validation_data_loader, RowLoader):
            validation_data_loader.check_for_scores()
