"""Data loaders: groups of batches for one update; whose data are in memory, and the same loader for other data."""

import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any, Optional, Protocol, runtime_checkable

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import DataLoader, DatasetReader, Instance, TensorDict, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import TensorField, TextField

from seal.common.equal_contents import digest, in_order
from seal.dataset_readers.tensor_loader import TensorTable
from seal.models import SealModel
from seal.two_player import MicroBatch, Update


class BatchGroup(dict[str, TensorDict]):
    """The batches of one update, `batch_0` and so on. It is a dictionary because callbacks expect a batch to be one."""


class GroupedLoader(DataLoader):
    """
    Yields groups of `group_size` batches, over which one update accumulates gradients; the last group of an epoch may
    be smaller. AllenNLP's loop passes its groups on one batch at a time, but here each player must see the whole group
    before it is the other one's turn.

    # Parameters

    loader : `DataLoader`
        That of single batches.
    group_size : `int`
    """

    def __init__(self, loader: DataLoader, group_size: int) -> None:
        self.loader = loader
        self._group_size = group_size

    def __len__(self) -> int:
        return -(-len(self.loader) // self._group_size)

    def __iter__(self) -> Iterator[Any]:
        for group in lazy_groups_of(self.loader, self._group_size):
            yield BatchGroup((f"batch_{i}", batch) for i, batch in enumerate(group))

    def iter_instances(self) -> Iterator[Instance]:
        return self.loader.iter_instances()

    def index_with(self, vocab: Vocabulary) -> None:
        self.loader.index_with(vocab)

    def set_target_device(self, device: torch.device) -> None:
        self.loader.set_target_device(device)


def micro_batches(batch: TensorDict) -> list[MicroBatch]:
    """The batches of a group, or the one batch that is not a group."""
    parts = list(batch.values()) if isinstance(batch, BatchGroup) else [batch]
    return [MicroBatch(part, alone=len(parts) == 1) for part in parts]


def most_steps(turns: list[str]) -> int:
    """The number of updates of the player that has the most in `turns`."""
    return max(turns.count(player) for player in turns)


def updates_on_fresh_batches(parts: list[MicroBatch], turns: list[str], accumulated: int = 1) -> list[Update]:
    """
    The updates of a group, each on the next `accumulated` batches: the player that is first begins with the first
    batches, and the other one ends with the last, so that with one update each both are on the same. A player has all
    its updates in a small group too, where it takes batches again: workers of a distributed run exchange as many
    gradients.

    # Parameters

    parts : `list[MicroBatch]`
        At least one, and up to `accumulated` for each update of the player that has the most. `alone` is set.
    turns : `list[str]`
        The player of each update, in order.
    accumulated : `int`, optional (default = `1`)
    """
    units = [parts[i : i + accumulated] for i in range(0, len(parts), accumulated)]
    steps = {player: turns.count(player) for player in turns}
    most, (first, *others) = most_steps(turns), steps
    taken = {first: range(steps[first]), **{player: range(most - steps[player], most) for player in others}}
    places = {player: [place % len(units) for place in taken[player]] for player in steps}
    for place, unit in enumerate(units):
        # A graph is of use to the other player only before its first update.
        shared = all(place in places[first] and place == places[player][0] for player in others)
        for part in unit:
            part.alone = len(unit) == 1 and shared
    return [(player, units[place]) for player in steps for place in places[player]]


def is_part_of_the_data(loader: DataLoader) -> bool:
    """Whether a pass over the loader yields only a part of its instances."""
    loader = loader.loader if isinstance(loader, GroupedLoader) else loader
    return getattr(loader, "batches_per_epoch", None) is not None


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
    A number that is the same for equal inputs: of the words of an instance or, where it has none, of its arrays without
    gold. An instance that has neither has `None`.
    """
    fields = instance.fields
    words = [[token.text for token in field] for field in fields.values() if isinstance(field, TextField)]
    if words:
        return digest(json.dumps(words).encode())
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
