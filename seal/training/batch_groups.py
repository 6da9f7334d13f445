"""Groups of batches that each player sees whole: to accumulate gradients over, or to make an update on each of."""

from collections.abc import Iterator
from typing import Any

import torch
from allennlp.common.util import lazy_groups_of
from allennlp.data import DataLoader, Instance, TensorDict, Vocabulary

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
