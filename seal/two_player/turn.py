from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch

from seal.two_player.micro_batch import MicroBatch
from seal.two_player.module_modes import without_dropout
from seal.two_player.objectives import Objectives
from seal.two_player.random_stream import RandomStream
from seal.two_player.task_state import TaskState

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
