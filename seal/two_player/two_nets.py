from typing import Any, Optional, Union

import torch

from seal.losses import EnergyLoss, TaskLoss
from seal.nets import CostAugmentedNet, LossNet, TaskNet, TaskNetOutput
from seal.output_spaces import OutputSpace
from seal.samplers import Sampler
from seal.two_player.model_checks import check_cost_augmented, check_loss_net_parts
from seal.two_player.objectives import Objectives, TaskState


class TwoNets(Objectives):
    """
    A task-net and the loss-net that trains it, for a training loop of any kind (`TwoPlayerStep`).

    # Parameters

    task_net : `TaskNet`, or any module
        It is called with the dictionary of inputs. A module that is no `TaskNet` returns logits, `(batch, *structure)`,
        or an object that has them as `logits`; the loss-net then needs an encoder of its own.
    loss_net : `LossNet`
    output_space : `OutputSpace`
    sampler : `Sampler`
        The loss-net's candidates.
    energy_loss : `EnergyLoss`
        Trains the loss-net.
    task_loss : `TaskLoss`, optional (default = `TaskLoss()`)
        Trains the task-net.
    cost_augmented_net : `CostAugmentedNet`, optional (default = `None`)
        A second network for the loss-net to learn from; no prediction needs it.

    # Raises

    `ConfigurationError` if the loss needs the log-probability of candidates that the sampler cannot give, or a
    cost-augmented network lacks what trains or uses it.
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
        #: The last value of each loss and energy, by its name.
        self.monitored: dict[str, torch.Tensor] = {}

    def forward(self, inputs: dict[str, Any], mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """The task-net's logits, `(batch, *structure)`: no prediction needs more."""
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
            What the encoders read, by name.
        gold : `torch.Tensor`, `(batch, *output)`, optional
        mask : `torch.BoolTensor`, `(batch, tokens)`, optional
            True at real tokens, which come first; `None` where all instances have one size.
        """
        logits, hidden, earlier = self._output(inputs, mask)
        return TaskState(inputs, logits, hidden, mask, gold, earlier=earlier)

    def monitor(self, name: str, value: torch.Tensor) -> None:
        self.monitored[name] = value.detach()
