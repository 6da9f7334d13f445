from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Optional, Union

import torch

from seal.common.random_states import RandomStream
from seal.output_spaces import Candidates
from seal.two_player.module_modes import without_dropout
from seal.two_player.objectives import Features, Objectives, TaskState
from seal.two_player.optimizer import TwoPlayerOptimizer


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


#: The names of the players.
TASK_NET, LOSS_NET = "task_net", "loss_net"


@dataclass
class Plan:
    """
    What is done with a batch.

    # Parameters

    order : `list[str]`
        The player of each update.
    uses_energy, supervised : `bool`, optional (default = `True`)
        Whether the task-net follows the energy, and gold.
    """

    order: list[str]
    uses_energy: bool = True
    supervised: bool = True

    def keeps_graph(self, part: MicroBatch, second: str) -> bool:
        """Whether a graph of this turn may be kept for the turn of `second`, the player that is updated later."""
        return part.alone and self.order[-1] == second


@dataclass
class Turn:
    """
    A player's part in a batch: its loss, and what its update leaves of what has been computed. That is used again as
    long as it is valid: one pass of the task-net serves both players if its parameters have not changed in between.

    # Parameters

    nets : `Objectives`
    players : `Collection[str]`
        All that are trained in the run.
    stream : `RandomStream`
        The loss-net's draws and dropout come from it.
    diverged : `Callable[..., Exception]`
        Makes the error for a value that is not finite: `diverged("task_net's loss is nan", "task_net")` names the
        players whose settings are to blame, too.
    reuse_features : `bool`, optional (default = `False`)
        Whether one pass of the loss-net's own encoder serves both players.
    """

    nets: Objectives
    players: Collection[str]
    stream: RandomStream
    diverged: Callable[..., Exception]
    reuse_features: bool = False

    player = ""

    def loss(self, part: MicroBatch, plan: Plan) -> torch.Tensor:
        """
        The player's loss, a scalar with its graph.

        # Raises

        What `diverged` makes, if the loss, or an output to draw from, is not finite.
        """
        loss = self._loss(part, plan)
        if not torch.isfinite(loss):
            raise self._not_finite(loss, part, plan)
        return loss

    def updated(self, parts: list[MicroBatch]) -> None:
        """Drops what the player's update has made stale."""
        raise NotImplementedError

    def blamed(self, plan: Plan) -> list[str]:
        """The players whose settings are to change if the gradient is not finite, the likelier ones first."""
        return [self.player]

    def _loss(self, part: MicroBatch, plan: Plan) -> torch.Tensor:
        raise NotImplementedError

    def _not_finite(self, loss: torch.Tensor, part: MicroBatch, plan: Plan) -> Exception:
        return self.diverged(f"{self.player}'s loss is {float(loss.detach())}", self.player)

    def _check_output(self, state: TaskState) -> None:
        """Where there is nothing to draw from."""
        if not torch.isfinite(state.logits).all():
            raise self.diverged("task_net's output is no longer finite", TASK_NET)


class TaskNetTurn(Turn):
    """`L_F`, by the energy as it is."""

    player = TASK_NET

    def loss(self, part: MicroBatch, plan: Plan) -> torch.Tensor:
        loss = super().loss(part, plan)
        part.state = None  # The backward pass frees its graph, and the update makes it stale.
        return loss

    def updated(self, parts: list[MicroBatch]) -> None:
        shares = self.nets.loss_net is not None and self.nets.loss_net.shares_encoder
        for part in parts:
            part.state = None
            if shares:
                part.features.drop()

    def blamed(self, plan: Plan) -> list[str]:
        follows = plan.uses_energy and LOSS_NET in self.players
        return [TASK_NET, LOSS_NET] if follows else [TASK_NET]

    def _loss(self, part: MicroBatch, plan: Plan) -> torch.Tensor:
        nets = self.nets
        state = part.state if part.has_graph and part.state is not None else part.run(nets)
        if plan.uses_energy and self.reuse_features and plan.keeps_graph(part, LOSS_NET):
            with self.stream.active():
                part.features.prepare(nets, state)
        features = part.features.frozen(nets, state) if plan.uses_energy else None
        if nets.task_loss.draws:
            self._check_output(state)
        return nets.task_net_loss(state, features, plan.supervised)

    def _not_finite(self, loss: torch.Tensor, part: MicroBatch, plan: Plan) -> Exception:
        """A loss-net that diverges may show it here, in the energy."""
        state = part.state
        if state is not None and LOSS_NET in self.blamed(plan) and torch.isfinite(state.logits).all():
            with torch.no_grad():
                energy = self.nets.task_net_loss(state, part.features.frozen(self.nets, state), supervised=False)
            if not torch.isfinite(energy):
                return self.diverged(f"loss_net's energy of the task_net's output is {float(energy)}", LOSS_NET)
        return super()._not_finite(loss, part, plan)


class LossNetTurn(Turn):
    """`L_E`, of candidates from the task-net as it is."""

    player = LOSS_NET

    def updated(self, parts: list[MicroBatch]) -> None:
        for part in parts:
            part.features.drop(but_vectors=self.reuse_features)

    def _loss(self, part: MicroBatch, plan: Plan) -> torch.Tensor:
        nets = self.nets
        if part.state is None and plan.keeps_graph(part, TASK_NET):
            part.run(nets)
        with self.stream.active():
            state = part.state
            if state is None:
                # This pass of the task-net is for the loss-net alone, so its dropout, too, draws from the loss-net's
                # stream. A task-net that is not trained in this phase (a frozen noise net) has no dropout, so that it
                # gives one distribution for an input; nor has the cost-augmented network, which it trains with.
                frozen = () if TASK_NET in plan.order else (nets.task_net, nets.cost_augmented_net)
                with torch.no_grad(), without_dropout(*frozen):
                    state = part.run(nets)
            self._check_output(state)
            if part.candidates is None:
                part.candidates = nets.draw(state)
            return nets.loss_net_loss(state, part.candidates, part.features.take(nets, state))


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
