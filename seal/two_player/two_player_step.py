"""Two-player training in any training loop: the two nets, and the step that updates them on a batch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional, Union

import torch

from seal.common.random_states import RandomStream
from seal.common.setting_checks import check_choice, check_range, require
from seal.losses import EnergyLoss, TaskLoss
from seal.nets import CostAugmentedNet, LossNet, TaskNet, TaskNetOutput
from seal.output_spaces import OutputSpace
from seal.registry import ConfigurationError
from seal.samplers import Sampler
from seal.two_player.model_checks import check_cost_augmented, check_loss_net_parts
from seal.two_player.objectives import Objectives, TaskState
from seal.two_player.updates import (
    LOSS_NET,
    TASK_NET,
    AlternatingUpdates,
    MicroBatch,
    Plan,
    TwoPlayerOptimizer,
    order_of_updates,
)


class TwoNets(Objectives):
    """
    A task-net and the loss-net that trains it, for any training loop (`TwoPlayerStep`).

    # Parameters

    task_net : `TaskNet`, or any module
        It is called with the dictionary of inputs. A module that is not a `TaskNet` returns logits, `(batch,
        *structure)`, or an object with the attribute `logits`; the loss-net then needs its own encoder.
    loss_net : `LossNet`
    output_space : `OutputSpace`
    sampler : `Sampler`
        Generates the loss-net's candidates.
    energy_loss : `EnergyLoss`
        Trains the loss-net.
    task_loss : `TaskLoss`, optional (default = `TaskLoss()`)
        Trains the task-net.
    cost_augmented_net : `CostAugmentedNet`, optional (default = `None`)
        A second network, which generates candidates for the loss-net in training only.

    # Raises

    `ConfigurationError` if the loss needs log-probabilities of candidates and the sampler gives none, or if nothing
    trains or uses the cost-augmented network.
    """

    task_net: torch.nn.Module

    def __init__(
        self,
        task_net: Union[TaskNet, torch.nn.Module],
        loss_net: LossNet,
        output_space: OutputSpace,
        sampler: Sampler,
        energy_loss: EnergyLoss,
        task_loss: Optional[TaskLoss] = None,
        cost_augmented_net: Optional[CostAugmentedNet] = None,
    ) -> None:
        super().__init__()
        check_loss_net_parts(sampler, energy_loss, gives_rewards=False)
        check_cost_augmented(cost_augmented_net, task_net, loss_net, sampler, energy_loss, task_loss)
        self.task_net, self.loss_net, self.cost_augmented_net = task_net, loss_net, cost_augmented_net
        self.output_space = output_space
        self.sampler, self.energy_loss, self.task_loss = sampler, energy_loss, task_loss or TaskLoss()
        #: The last value of each loss and energy, by name.
        self.monitored: dict[str, torch.Tensor] = {}

    def forward(self, inputs: dict[str, Any], mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The task-net's logits, `(batch, *structure)`."""
        return self._output(inputs, mask).logits

    def _output(self, inputs: dict[str, Any], mask: Optional[torch.Tensor] = None) -> TaskNetOutput:
        if isinstance(self.task_net, TaskNet):
            return self.task_net(inputs, mask)
        output = self.task_net(inputs)
        if isinstance(output, TaskNetOutput):
            return output
        return TaskNetOutput(output if isinstance(output, torch.Tensor) else output.logits, None)

    def task_state(
        self, inputs: dict[str, Any], gold: Optional[torch.Tensor] = None, mask: Optional[torch.Tensor] = None
    ) -> TaskState:
        """
        Runs the task-net on a batch, with its graph.

        # Parameters

        inputs : `dict[str, Any]`
            The input tensors of the encoders, by name.
        gold : `torch.Tensor`, `(batch, *output)`, optional
        mask : `torch.BoolTensor`, `(batch, tokens)`, optional
            True at real tokens, which come first; `None` if all instances have the same size.
        """
        logits, hidden, earlier = self._output(inputs, mask)
        return TaskState(inputs, logits, hidden, mask, gold, earlier=earlier)

    def monitor(self, name: str, value: torch.Tensor) -> None:
        self.monitored[name] = value.detach()


@dataclass
class Updates:
    """
    The optimizer and the updates of one player.

    # Parameters

    optimizer : `torch.optim.Optimizer`
        An optimizer of `nets.task_net_parameters()` or `nets.loss_net_parameters()`.
    scheduler : `torch.optim.lr_scheduler.LRScheduler`, optional (default = `None`)
        It is stepped after each batch in which the player is trained. The training loop steps a scheduler of epochs.
    grad_norm : `float`, optional (default = `None`)
        The maximum norm of the player's gradient; a larger gradient is scaled down.
    steps : `int`, optional (default = `1`)
        The number of updates per batch. 0 freezes the player.
    """

    optimizer: torch.optim.Optimizer
    scheduler: Optional[Any] = None
    grad_norm: Optional[float] = None
    steps: int = 1


class TwoPlayerStep:
    """
    Trains a task-net and a loss-net in turns on one batch (SEAL, NeurIPS 2022, Eq. 4-5), in any training loop:

        S       = candidates from the task-net as it is
        Theta_t = `loss_net.steps` updates of the loss-net by L_E on S and gold
        Phi_t   = `task_net.steps` updates of the task-net by L_F under Theta_t

    It steps the optimizers and schedulers. `step(batch)` makes all updates. A loop that does something between updates
    calls `begin` and then `update` for each player.

    # Parameters

    nets : `TwoNets`, or any `Objectives`
    task_net, loss_net : `Updates`, optional (default = `None`)
        `None`: the player is not trained.
    first : `str`, optional (default = `"loss_net"`)
        The player that is updated first in a batch.
    interleaved : `bool`, optional (default = `False`)
        Whether all updates of the first player are repeated before every update of the other one, with new candidates.
    reuse_features : `bool`, optional (default = `False`)
        Whether one pass of the loss-net's own encoder serves both players.
    backward : `Callable[[torch.Tensor], None]`, optional (default = `torch.Tensor.backward`)
        Backpropagates a loss; for example `accelerator.backward`.
    seed : `int`, optional (default = `torch.initial_seed() + 1`)
        The seed of the random stream for the loss-net's samples and dropout. The separate stream keeps the task-net's
        dropout the same with a loss-net and without.

    # Raises

    `ConfigurationError` if no player is to be trained, `first` names none, or a number is out of range.
    """

    def __init__(
        self,
        nets: Objectives,
        task_net: Optional[Updates] = None,
        loss_net: Optional[Updates] = None,
        first: str = LOSS_NET,
        interleaved: bool = False,
        reuse_features: bool = False,
        backward: Callable[[torch.Tensor], None] = torch.Tensor.backward,
        seed: Optional[int] = None,
    ) -> None:
        check_choice("first", first, (TASK_NET, LOSS_NET))
        given = {TASK_NET: task_net, LOSS_NET: loss_net}
        self._players: dict[str, Updates] = {}
        for name in sorted(given, key=lambda name: name != first):
            player = given[name]
            if player is not None:
                check_range(f"{name}.steps", player.steps, least=0)
                check_range(f"{name}.grad_norm", player.grad_norm, above=0)
                if player.steps > 0:
                    self._players[name] = player
        if not self._players:
            raise ConfigurationError("TwoPlayerStep: give task_net or loss_net, with steps of at least 1.")
        self.nets, self._interleaved = nets, interleaved
        self.optimizer = TwoPlayerOptimizer({name: player.optimizer for name, player in self._players.items()})
        self._stream = RandomStream(torch.initial_seed() + 1 if seed is None else seed)
        self._turns, self._backward = AlternatingUpdates(nets, self.optimizer, self._stream, reuse_features), backward

    @property
    def turns(self) -> list[str]:
        """The player of each update of a batch, in order."""
        return order_of_updates({name: player.steps for name, player in self._players.items()}, self._interleaved)

    def step(self, batch: dict[str, Any]) -> dict[str, torch.Tensor]:
        """
        Makes all updates of a batch.

        # Parameters

        batch : `dict[str, Any]`
            The arguments of `nets.task_state`; for `TwoNets` the inputs, gold and mask.

        # Returns

        `dict[str, torch.Tensor]`: each player's loss in its last update, a constant scalar.
        """
        part = self.begin(batch)
        losses = {name: self.update(name, part) for name in self.turns}
        for name in self._players:
            self.end(name)
        return losses

    def begin(self, batch: dict[str, Any]) -> MicroBatch:
        """Wraps a batch for `update`, with a cache of intermediate results."""
        return MicroBatch(batch, alone=True)

    def update(self, player: str, part: MicroBatch) -> torch.Tensor:
        """
        Updates the player, `"task_net"` or `"loss_net"`, once; returns its loss, a constant scalar.

        # Raises

        `FloatingPointError` if the loss or the task-net's output is not finite; the weights are then unchanged.
        """
        check_choice("player", player, tuple(self._players))
        self.optimizer.zero_grad()
        plan, grad_norm = Plan(self.turns, self.nets.uses_energy), self._players[player].grad_norm
        for _, loss, *_ in self._turns.losses([(player, [part])], plan):
            self._backward(loss)
            if grad_norm is not None:
                torch.nn.utils.clip_grad_norm_(self.optimizer.parameters(), grad_norm)
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss.detach()

    def end(self, player: str) -> None:
        """Ends the player's updates of a batch: steps its scheduler, if it has one. `step` calls it."""
        scheduler = self._players[player].scheduler
        if scheduler is not None:
            scheduler.step()

    def state_dict(self) -> dict[str, Any]:
        """The states of the optimizers, the schedulers and the loss-net's random stream, without the nets' weights."""
        schedulers = {name: player.scheduler for name, player in self._players.items() if player.scheduler is not None}
        return {
            "optimizers": self.optimizer.state_dict(),
            "schedulers": {name: scheduler.state_dict() for name, scheduler in schedulers.items()},
            "stream": self._stream.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizers"])
        for name, saved in state["schedulers"].items():
            require(self._players[name].scheduler, f"{name}.scheduler").load_state_dict(saved)
        self._stream.state = state["stream"]
