from collections.abc import Callable

import torch

from seal.common.module_modes import without_dropout
from seal.two_player.micro_batch import MicroBatch
from seal.two_player.objectives import Objectives
from seal.two_player.random_stream import RandomStream
from seal.two_player.task_state import TaskState

#: The names of the players.
TASK_NET, LOSS_NET = "task_net", "loss_net"


class PlayerLosses:
    """
    The loss of each player when it is its turn in a batch. What the turns before have computed is used again as long as
    it is valid: one pass of the task-net serves both players if its parameters have not changed in between.

    # Parameters

    nets : `Objectives`
    stream : `RandomStream`
        The loss-net's draws and dropout come from it.
    check_output : `Callable[[TaskState], None]`
        Is called before anything is drawn from the task-net's output, which may not be finite.
    reuse_features : `bool`, optional (default = `False`)
        Whether one pass of the loss-net's own encoder serves both players.
    """

    def __init__(
        self,
        nets: Objectives,
        stream: RandomStream,
        check_output: Callable[[TaskState], None],
        reuse_features: bool = False,
    ) -> None:
        self.nets = nets
        self._stream = stream
        self._check_output = check_output
        self._reuse_features = reuse_features

    def of_task_net(
        self, part: MicroBatch, turns: list[str], uses_energy: bool = True, supervised: bool = True
    ) -> torch.Tensor:
        """
        # Parameters

        part : `MicroBatch`
        turns : `list[str]`
            The player of each update of the batch, in order.
        uses_energy, supervised : `bool`, optional (default = `True`)
            Whether the task-net follows the energy, and gold.

        # Returns

        `torch.Tensor`, a scalar
        """
        nets = self.nets
        if not part.has_graph or part.state is None:
            part.state, part.has_graph = nets.state_of_all_nets(**part.batch), True
        state = part.state
        if uses_energy and self._reuse_features and _is_for_both(part, turns, LOSS_NET):
            with self._stream.active():
                part.features.prepare(nets, state)
        features = part.features.frozen(nets, state) if uses_energy else None
        if nets.task_loss.draws:
            self._check_output(state)
        return nets.task_net_loss(state, features, supervised)

    def of_loss_net(self, part: MicroBatch, turns: list[str]) -> torch.Tensor:
        """As `of_task_net`."""
        nets = self.nets
        if part.state is None and _is_for_both(part, turns, TASK_NET):
            part.state, part.has_graph = nets.state_of_all_nets(**part.batch), True
        with self._stream.active():
            if part.state is None:
                # This pass of the task-net is for the loss-net alone, so its dropout, too, draws from the loss-net's
                # stream. A task-net that is not trained in this phase (a frozen noise net) has no dropout, so that it
                # gives one distribution for an input; nor has the cost-augmented network, which it trains with.
                frozen = () if TASK_NET in turns else (nets.task_net, nets.cost_augmented_net)
                with torch.no_grad(), without_dropout(*frozen):
                    part.state, part.has_graph = nets.state_of_all_nets(**part.batch), False
            state = part.state
            self._check_output(state)
            if part.candidates is None:
                part.candidates = nets.draw(state)
            return nets.loss_net_loss(state, part.candidates, part.features.take(nets, state))

    def updated(self, player: str, parts: list[MicroBatch]) -> None:
        """Drops the loss-net's features where the player's update has made them stale."""
        loss_net = self.nets.loss_net
        if player == LOSS_NET:
            stale = not self._reuse_features
        else:
            stale = loss_net is not None and loss_net.shares_encoder
        if stale:
            for part in parts:
                part.features.drop()


def _is_for_both(part: MicroBatch, turns: list[str], second: str) -> bool:
    """Whether a graph of this turn may be kept for the turn of `second`, the player that is updated later."""
    return part.alone and turns[-1] == second
