from collections.abc import Callable
from typing import Optional, Union

import torch

from seal.two_player.micro_batch import MicroBatch
from seal.two_player.objectives import Objectives
from seal.two_player.optimizer import TwoPlayerOptimizer
from seal.two_player.random_stream import RandomStream
from seal.two_player.turn import LossNetTurn, Plan, TaskNetTurn, Turn


class Turns:
    """
    The updates of two players in turns, as every loop makes them: AllenNLP's trainer and `TwoPlayerStep` add how a loss
    is backpropagated, what an update is and how an error is told.

    # Parameters

    nets : `Objectives`
    optimizer : `TwoPlayerOptimizer`
    stream : `RandomStream`
    backward : `Callable[[torch.Tensor], None]`
        Backpropagates a loss.
    step : `Callable[[], None]`
        Updates the player whose turn it is by its gradients, which are cleared afterwards.
    diverged, reuse_features : as for `Turn`.
    """

    def __init__(
        self,
        nets: Objectives,
        optimizer: TwoPlayerOptimizer,
        stream: RandomStream,
        backward: Callable[[torch.Tensor], None],
        step: Callable[[], None],
        diverged: Callable[..., Exception],
        reuse_features: bool = False,
    ) -> None:
        self._optimizer, self._backward, self._step = optimizer, backward, step
        #: By the name of the player.
        self.of: dict[str, Turn] = {
            kind.player: kind(nets, optimizer.players, stream, diverged, reuse_features)
            for kind in (TaskNetTurn, LossNetTurn)
        }

    def loss(self, player: str, part: MicroBatch, plan: Plan) -> torch.Tensor:
        """The player's loss of a batch, a scalar with its graph. It is the player's turn from now on."""
        self._optimizer.turn = player
        return self.of[player].loss(part, plan)

    def accumulate(self, player: str, parts: list[MicroBatch], size: int, plan: Plan) -> Union[float, torch.Tensor]:
        """Adds gradients of `parts`, of a group of `size`; returns their share of its mean loss, a constant."""
        total: Union[float, torch.Tensor] = 0.0
        for part in parts:
            loss = self.loss(player, part, plan) / size
            total = total + loss.detach()
            self._backward(loss)
        return total

    def update(
        self, player: str, group: list[MicroBatch], plan: Plan, parts: Optional[list[MicroBatch]] = None
    ) -> torch.Tensor:
        """
        Updates the player by the mean loss of a group of batches; returns it, a constant scalar. `parts` are all
        batches of these turns, if they are more.
        """
        total = self.accumulate(player, group, len(group), plan)
        self._step()
        self._optimizer.zero_grad()
        self.of[player].updated(group if parts is None else parts)
        return torch.as_tensor(total)
