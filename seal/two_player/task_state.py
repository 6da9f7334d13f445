from dataclasses import dataclass
from typing import Any, Optional

import torch

from seal.common.nested_values import select_rows
from seal.registry import ConfigurationError


@dataclass
class TaskState:
    """
    The task-net's output for a batch, and what else both losses read. It is computed once for the two.

    # Parameters

    inputs : `dict[str, Any]`
        The tensors that encoders read.
    logits : `torch.Tensor`, `(batch, *structure)`
        With the task-net's graph; zeros without a task-net.
    hidden : `torch.Tensor`, `(batch, ..., size)`, optional
        The vectors of the task-net's encoder; `None` without a task-net.
    mask : `torch.BoolTensor`, optional
        `(batch, tokens)`, True at real tokens; `None` where all instances have one size.
    gold : `torch.Tensor`, `(batch, *output)`, optional
    auxiliary_loss : `torch.Tensor`, a scalar, optional
        The loss of the task-net's further heads.
    cost_augmented : `torch.Tensor`, `(batch, *structure)`, optional
        The cost-augmented network's logits, with its graph; `task_state` leaves it at `None`.
    earlier : `torch.Tensor`, `(batch, steps, *structure)`, optional
        As in `TaskNetOutput`.
    """

    inputs: dict[str, Any]
    logits: torch.Tensor
    hidden: Optional[torch.Tensor]
    mask: Optional[torch.Tensor] = None
    gold: Optional[torch.Tensor] = None
    auxiliary_loss: Optional[torch.Tensor] = None
    cost_augmented: Optional[torch.Tensor] = None
    earlier: Optional[torch.Tensor] = None

    def of_rows(self, rows: torch.Tensor) -> "TaskState":
        """The state of these instances alone, without gold, for energies of their outputs."""
        hidden = None if self.hidden is None else self.hidden[rows]
        mask = None if self.mask is None else self.mask[rows]
        return TaskState(select_rows(self.inputs, rows), self.logits[rows], hidden, mask)


def check_gold(gold: Optional[torch.Tensor]) -> torch.Tensor:
    """
    The gold of a training batch; an error where there is none, for example because the file was read without its tags.
    """
    if gold is None:
        raise ConfigurationError(
            "train_data_path: the data have no gold to learn from; a phase of trainer.phases needs none if its "
            "'supervised' is false, and the callback 'trace_inference_networks' always needs it."
        )
    return gold
