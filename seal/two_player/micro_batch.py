from dataclasses import dataclass, field
from typing import Any, Optional

import torch

from seal.output_spaces import Candidates
from seal.two_player.features import Features
from seal.two_player.objectives import Objectives
from seal.two_player.task_state import TaskState


@dataclass
class MicroBatch:
    """
    A batch, and what has been computed for it and is still valid.

    # Parameters

    batch : `dict[str, Any]`
    alone : `bool`, optional (default = `False`)
        Whether it makes an update by itself. Otherwise no graph is kept from one player's turn to the other's:
        accumulation is meant to save memory.
    state : `TaskState`, optional
        Until the task-net is updated. It has a graph to backpropagate through if `has_graph`.
    candidates : `Candidates`, optional
        For the whole step.
    features : `Features`
        The loss-net's, until it is updated or, with `reuse_features`, for the rest of the step.
    """

    batch: dict[str, Any]
    alone: bool = False
    state: Optional[TaskState] = None
    has_graph: bool = False
    candidates: Optional[Candidates] = None
    features: Features = field(default_factory=Features)

    def run(self, nets: Objectives) -> TaskState:
        """Runs the task-net, with a graph unless gradients are off."""
        self.state, self.has_graph = nets.state_of_all_nets(**self.batch), torch.is_grad_enabled()
        return self.state
