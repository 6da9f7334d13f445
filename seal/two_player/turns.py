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
    before_last : `Callable[[], None]`, optional
        Is called before the last backward pass of each update.
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
        before_last: Callable[[], None] = lambda: None,
    ) -> None:
        self._optimizer, self._backward, self._step, self._before_last = optimizer, backward, step, before_last
        #: By the name of the player.
        self.of: dict[str, Turn] = {
            kind.player: kind(nets, optimizer.players, stream, diverged, reuse_features)
            for kind in (TaskNetTurn, LossNetTurn)
        }

    def loss(self, player: str, part: MicroBatch, plan: Plan) -> torch.Tensor:
        """The player's loss of a batch, a scalar with its graph. It is the player's turn from now on."""
        self._optimizer.turn = player
        return self.of[player].loss(part, plan)

    def mean_loss(self, player: str, group: list[MicroBatch], plan: Plan) -> torch.Tensor:
        """
        The player's mean loss of a group of batches, a scalar with the graph of the last of them. The gradients of the
        others are there already: the backward pass from it is the last of the update.
        """
        earlier: Union[float, torch.Tensor] = 0.0
        for part in group[:-1]:
            loss = self.loss(player, part, plan) / len(group)
            earlier = earlier + loss.detach()
            self._backward(loss)
        mean = self.loss(player, group[-1], plan) / len(group) + earlier
        self._before_last()
        return mean

    def update(
        self, player: str, group: list[MicroBatch], plan: Plan, parts: Optional[list[MicroBatch]] = None
    ) -> torch.Tensor:
        """
        Updates the player by the mean loss of a group of batches; returns it, a constant scalar. `parts` are all
        batches of these turns, if they are more.
        """
        loss = self.mean_loss(player, group, plan)
        self._backward(loss)
        self._step()
        self._optimizer.zero_grad()
        self.of[player].updated(group if parts is None else parts)
        return loss.detach()
