from dataclasses import dataclass
from typing import Any, Iterator, List, Optional, Union

import torch
from allennlp.common.util import lazy_groups_of
from allennlp.data import DataLoader, Instance, Vocabulary
from allennlp.data.data_loaders import TensorDict

from seal.models import TaskState
from seal.output_spaces import Candidates


@dataclass
class MicroBatch:
    """
    A batch and what has been computed of it and still holds: `state` until the task-net is updated, `features` until
    the loss-net is, `candidates` for the whole step.
    """

    batch: TensorDict
    state: Optional[TaskState] = None
    candidates: Optional[Candidates] = None
    features: Optional[List[Any]] = None


class GroupedLoader(DataLoader):
    """
    Yields lists of `group_size` batches, the last of an epoch maybe shorter: what one update accumulates over.
    AllenNLP's loop hands its groups over a batch at a time, and here both players must see the whole group before
    the second moves.
    """

    def __init__(self, loader: DataLoader, group_size: int) -> None:
        self._loader = loader
        self._group_size = group_size

    def __len__(self) -> int:
        return -(-len(self._loader) // self._group_size)

    def __iter__(self) -> Iterator[List[TensorDict]]:
        return lazy_groups_of(self._loader, self._group_size)

    def iter_instances(self) -> Iterator[Instance]:
        return self._loader.iter_instances()

    def index_with(self, vocab: Vocabulary) -> None:
        self._loader.index_with(vocab)

    def set_target_device(self, device: torch.device) -> None:
        self._loader.set_target_device(device)


def micro_batches(batch: Union[TensorDict, List[TensorDict]]) -> List[MicroBatch]:
    return [MicroBatch(part) for part in (batch if isinstance(batch, list) else [batch])]
