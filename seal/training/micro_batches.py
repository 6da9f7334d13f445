from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional

import torch
from allennlp.common.util import lazy_groups_of
from allennlp.data import DataLoader, Instance, TensorDict, Vocabulary

from seal.models import TaskState
from seal.output_spaces import Candidates


@dataclass
class MicroBatch:
    """
    A batch, and what has been computed for it and is still valid.

    # Parameters

    batch : `TensorDict`
    alone : `bool`, optional (default = `False`)
        Whether it makes an update by itself. Otherwise no graph is kept from one player's turn to the other's:
        accumulation is meant to save memory.
    state : `TaskState`, optional
        Until the task-net is updated. It has a graph to backpropagate through if `has_graph`.
    candidates : `Candidates`, optional
        For the whole step.
    features : `List[Any]`, optional
        The loss-net's features as constants, until the loss-net is updated or, with `reuse_features`, for the rest of
        the step.
    features_with_graph : `List[Any]`, optional
        The same with their graph, for the loss-net's next loss.
    """

    batch: TensorDict
    alone: bool = False
    state: Optional[TaskState] = None
    has_graph: bool = False
    candidates: Optional[Candidates] = None
    features: Optional[List[Any]] = None
    features_with_graph: Optional[List[Any]] = None


class BatchGroup(Dict[str, TensorDict]):
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

    def __iter__(self) -> Iterator[BatchGroup]:
        for group in lazy_groups_of(self.loader, self._group_size):
            yield BatchGroup((f"batch_{i}", batch) for i, batch in enumerate(group))

    def iter_instances(self) -> Iterator[Instance]:
        return self.loader.iter_instances()

    def index_with(self, vocab: Vocabulary) -> None:
        self.loader.index_with(vocab)

    def set_target_device(self, device: torch.device) -> None:
        self.loader.set_target_device(device)


def micro_batches(batch: TensorDict) -> List[MicroBatch]:
    """The batches of a group, or the one batch that is not a group."""
    parts = list(batch.values()) if isinstance(batch, BatchGroup) else [batch]
    return [MicroBatch(part, alone=len(parts) == 1) for part in parts]


def is_part_of_the_data(loader: DataLoader) -> bool:
    """Whether a pass over the loader yields only a part of its instances."""
    loader = loader.loader if isinstance(loader, GroupedLoader) else loader
    return getattr(loader, "batches_per_epoch", None) is not None
