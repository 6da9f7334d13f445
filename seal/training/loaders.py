"""Data loaders whose data are in memory, and the same loader for other data."""

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

# The arrays of an instance or a row that are gold; all others are input.
_GOLD = ("labels", "mask")
# Bytes of rows that are looked at at once.
_BLOCK = 2**24


@runtime_checkable
class RowLoader(Protocol):
    """A data loader of rows of a table, as the loader `tensors`."""

    reader: DatasetReader

    @property
    def num_rows(self) -> int: ...

    def with_rows(self, places: torch.Tensor) -> DataLoader: ...

    def with_table(self, table: Any) -> DataLoader: ...

    def table_and_rows(self) -> tuple[Any, torch.Tensor]: ...

    def check_for_scores(self) -> None: ...


def instances_of(data_loader: DataLoader, otherwise: str) -> list[Instance]:
    """The instances of a loader that has them in memory; if it has not, an error with the message `otherwise`."""
    instances = getattr(data_loader, "_instances", None)
    if not isinstance(data_loader, MultiProcessDataLoader) or instances is None:
        raise ConfigurationError(otherwise)
    return instances


def with_instances(data_loader: DataLoader, instances: Sequence[Instance]) -> DataLoader:
    """A data loader of the same settings for other instances."""
    other: Any = copy.copy(data_loader)
    other._instances = instances
    other._batch_generator = None
    return other


def restricted(data_loader: Any, places: list[int]) -> DataLoader:
    """A data loader of the same settings for some of its instances or rows."""
    if isinstance(data_loader, RowLoader):
        return data_loader.with_rows(torch.tensor(places))
    return with_instances(data_loader, [data_loader._instances[place] for place in places])


def input_of(instance: Instance) -> Optional[int]:
    """
    A number that is the same for equal inputs: of the words of an instance, whatever their case, or, where it has none,
    of its arrays without gold. An instance that has neither has `None`.
    """
    fields = instance.fields
    words = [[token.text for token in field] for field in fields.values() if isinstance(field, TextField)]
    if words:
        return content(words)
    arrays = _without_gold({name: field.tensor for name, field in fields.items() if isinstance(field, TensorField)})
    return digest(*arrays) if arrays else None


def inputs_of_rows(table: TensorTable, rows: numpy.ndarray) -> Iterator[int]:
    """The same of each of the given rows of a table, some megabytes of them at a time."""
    start, step = 0, 1
    while start < len(rows):
        block = rows[start : start + step]
        # As the files have them, where a subclass draws in each pass what it cuts out of them.
        arrays = _without_gold(TensorTable.batch(table, block) or table.batch(block))
        for row in zip(*arrays):
            yield digest(*row)
        start += step
        step = max(1, _BLOCK // max(1, sum(array[0].nbytes for array in arrays)))


def _without_gold(arrays: dict[str, Any]) -> list[numpy.ndarray]:
    return [arrays[name].cpu().numpy() for name in sorted(arrays) if name not in _GOLD]


def equal_inputs(data_loader: DataLoader, otherwise: str) -> numpy.ndarray:
    """
    For each instance or row the number of its input, `(instances,)`: inputs are numbered from 0 in the order in which
    they first occur, and equal ones have one number. Beside the data that takes a few numbers for each instance.

    # Raises

    As `instances_of`.
    """
    if isinstance(data_loader, RowLoader):
        table, rows = data_loader.table_and_rows()
        found: Iterator[Optional[int]] = inputs_of_rows(table, rows.numpy())
    else:
        found = map(input_of, instances_of(data_loader, otherwise))
    # One of which nothing is known is like no other.
    numbers = (place if number is None else number for place, number in enumerate(found))
    return in_order(numpy.fromiter(numbers, dtype=numpy.uint64))


def check_data(model: SealModel, data_loader: DataLoader, validation_data_loader: Optional[DataLoader]) -> None:
    """
    It is an error if the reader of one of the two leaves more to an instance than the model takes, or validation data
    are others in each pass: evaluation would refuse them, too, but after an epoch.
    """
    model.check_reader(getattr(data_loader, "reader", None), "dataset_reader")
    if validation_data_loader is not None:
        model.check_reader(getattr(validation_data_loader, "reader", None), "validation_dataset_reader")
        if isinstance(validation_data_loader, RowLoader):
            validation_data_loader.check_for_scores()
