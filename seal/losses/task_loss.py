from collections.abc import Callable
from typing import NamedTuple, Optional

import torch

from seal.common.setting_checks import check_range
from seal.output_spaces import OutputSpace
from seal.registry import ConfigurationError, Registrable


class NetTerms(NamedTuple):
    """
    What a task loss reads of a network: three numbers for each instance, `(batch,)` each.

    # Parameters

    supervised : `torch.Tensor`
        The supervised part, in nats, summed over the structure.
    energy : `torch.Tensor`, optional
        `E(x, .)` of the relaxed output; `None` where the energy is not used.
    cost : `torch.Tensor`, optional
        `Delta(., y)` of the relaxed output; `None` where the loss has no cost.
    """

    supervised: torch.Tensor
    energy: Optional[torch.Tensor] = None
    cost: Optional[torch.Tensor] = None


class TaskLoss(Registrable):
    """
    `L_F = energy_weight * E(x, F(x)) + cross_entropy_weight * CE(F(x), y)` of each instance, whose mean over the batch
    trains the task-net (SEAL, NeurIPS 2022, Eq. 1). The loss-net is a constant in it.

    # Parameters

    energy_weight : `float`, optional (default = `1.0`)
        `lambda_1`. With 0 every training step is one of cross-entropy training.
    cross_entropy_weight : `float`, optional (default = `1.0`)
        `lambda_2`.
    straight_through : `bool`, optional (default = `False`)
        Whether to take the energy and its gradient at the discrete output nearest to the relaxed one, and to pass this
        gradient on to the relaxed output unchanged. The ranking losses train the loss-net on discrete outputs only, so
        nothing determines its energy between them.

    # Raises

    `ConfigurationError` if a weight is negative or both are 0.
    """

    default_implementation = "weighted"
    #: The name of the supervised part in the metrics.
    supervised_name = "cross_entropy"
    #: Whether the loss trains a cost-augmented network beside the task-net.
    takes_cost_augmented = False
    #: Whether the loss reads the energy of gold.
    needs_gold_energy = False
    #: Whether the loss draws from the task-net's distribution.
    draws = False
    #: Whether the energy is that of draws, by `energy_of_samples`, and not of the relaxed output.
    through_draws = False

    def __init__(
        self,
        energy_weight: float = 1.0,
        cross_entropy_weight: float = 1.0,
        straight_through: bool = False,
    ) -> None:
        check_range("task_loss.energy_weight", energy_weight, least=0)
        check_range("task_loss.cross_entropy_weight", cross_entropy_weight, least=0)
        if energy_weight == cross_entropy_weight == 0:
            raise ConfigurationError("task_loss: energy_weight and cross_entropy_weight are both 0; set one of them.")
        self.energy_weight = energy_weight
        self.cross_entropy_weight = cross_entropy_weight
        self.straight_through = straight_through

    def supervised(
        self,
        output_space: OutputSpace,
        logits: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """`CE(F(x), y)` of each instance: `(batch,)`."""
        return output_space.cross_entropy(logits, gold, mask)

    def supervised_in_steps(
        self,
        output_space: OutputSpace,
        earlier: Optional[torch.Tensor],
        logits: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        `supervised` of a net that has found its logits in steps; `earlier`, `(batch, steps, *structure)`, are those of
        the steps before the last. Here the last step alone counts.
        """
        return self.supervised(output_space, logits, gold, mask)

    def energy_of_samples(
        self,
        output_space: OutputSpace,
        logits: torch.Tensor,
        energy: Callable[[torch.Tensor], torch.Tensor],
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        What the task-net follows of the energy where the loss has `through_draws`.

        # Parameters

        output_space : `OutputSpace`
        logits : `torch.Tensor`, `(batch, *structure)`
        energy : `Callable[[torch.Tensor], torch.Tensor]`
            `E(x, .)` of candidates `(batch, samples, *output)`: `(batch, samples)`.
        mask : `torch.BoolTensor`, optional

        # Returns

        `torch.Tensor`, `(batch,)`
        """
        raise NotImplementedError

    def cost(
        self,
        output_space: OutputSpace,
        outputs: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> Optional[torch.Tensor]:
        """`Delta` of relaxed outputs `(batch, nets, *structure)`: `(batch, nets)`; `None` where the loss has none."""
        return None

    def __call__(
        self,
        task_net: NetTerms,
        cost_augmented: Optional[NetTerms] = None,
        gold_energy: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        # Parameters

        task_net : `NetTerms`
        cost_augmented : `NetTerms`, optional
            The terms of the model's cost-augmented network, if it has one.
        gold_energy : `torch.Tensor`, `(batch,)`, optional
            The energy of gold, a constant; given where the loss needs it and the energy is used.

        # Returns

        `torch.Tensor`, `(batch,)`
        """
        loss = self.cross_entropy_weight * task_net.supervised
        if task_net.energy is not None and self.energy_weight > 0:
            loss = loss + self.energy_weight * task_net.energy
        return loss


TaskLoss.register("weighted")(TaskLoss)
