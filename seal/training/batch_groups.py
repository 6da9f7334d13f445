"""Groups of batches for gradient accumulation, or for several updates on successive batches."""

from collections.abc import Iterator
from typing import Any

import torch
from allennlp.common.util import lazy_groups_of
from allennlp.data import DataLoader, Instance, TensorDict, Vocabulary

from seal.two_player import MicroBatch, Update


class BatchGroup(dict[str, TensorDict]):
    """The batches of one update, `batch_0` and so on: a dictionary, because callbacks expect a batch to be one."""


class GroupedLoader(DataLoader):
    """
    Yields groups of `group_size` batches; the last group of an epoch may be smaller. Each player is updated on the
    whole group before it is the other player's turn, while AllenNLP's loop passes on one batch of a group at a time.

    # Parameters

    loader : `DataLoader`
        Yields single batches.
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
    """The batches of a `BatchGroup`; any other batch alone."""
    parts = list(batch.values()) if isinstance(batch, BatchGroup) else [batch]
    return [MicroBatch(part, alone=len(parts) == 1) for part in parts]


def most_steps(turns: list[str]) -> int:
    """The most updates of any player in `turns`, the player of each update."""
    return max(turns.count(player) for player in turns)


def updates_on_fresh_batches(parts: list[MicroBatch], turns: list[str], accumulated: int = 1) -> list[Update]:
    """
    Plans the updates of a group when each update takes the next `accumulated` batches. The first player's updates start
    with the first batches, the other player's end with the last; with one update each, both are on the same batches. In
    a small group a player takes batches again, because the workers of a distributed run must exchange the same number
    of gradients.

    # Parameters

    parts : `list[MicroBatch]`
        The batches of the group: from one to `accumulated` times the most updates of a player. Their `alone` is set.
    turns : `list[str]`
        The player of each update, in order.
    accumulated : `int`, optional (default = `1`)
        The number of batches of an update.
    """
    units = [parts[i : i + accumulated] for i in range(0, len(parts), accumulated)]
    steps = {player: turns.count(player) for player in turns}
    most, (first, *others) = most_steps(turns), steps
    taken = {first: range(steps[first]), **{player: range(most - steps[player], most) for player in others}}
    places = {player: [place % len(units) for place in taken[player]] for player in steps}
    for place, unit in enumerate(units):
        # The other player can use the graph only in its first update.
        shared = all(place in places[first] and place == places[player][0] for player in others)
        for part in unit:
            part.alone = len(unit) == 1 and shared
    return [(player, units[place]) for player in steps for place in places[player]]


def is_part_of_the_data(loader: DataLoader) -> bool:
    """Whether an epoch of the loader yields only a part of its instances."""
    loader = loader.loader if isinstance(loader, GroupedLoader) else loader
    return getattr(loader, "batches_per_epoch", None) is not None
