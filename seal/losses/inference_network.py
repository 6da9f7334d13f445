from typing import Optional

import torch

from seal.common.setting_checks import check_range, require
from seal.losses.task_loss import NetTerms, TaskLoss
from seal.registry import ConfigurationError
from seal.scores import Cost, L1Cost


@TaskLoss.register("inference_network")
class InferenceNetworkLoss(TaskLoss):
    """
    The loss that trains inference networks under an energy (Tu, Pang & Gimpel 2020, Eq. 6 and section 4), for each
    instance:

        w_e ( mu ( -Delta(F^c(x), y) + E(x, F^c(x)) ) + lambda E(x, A(x)) ) + tau ( CE(F^c(x), y) + CE(A(x), y) )

    `A` is the task-net and `F^c` the model's `cost_augmented_net`. Without a `cost_augmented_net` the task-net is both,
    and its cross-entropy counts once. With `lambda = 0` this is then the margin-rescaled objective of Tu & Gimpel
    (2018), after which the task-net is tuned for the test, without gold; with `lambda` above 0 it
    is the margin-style auxiliary loss of implicit training, where `tau` is 0. `mu` is 1 in the paper; 0 leaves the
    perceptron's objective, which has no cost.

    With `zero_truncation` the energy part is minus the loss-net's own hinges,

        w_e ( -mu [Delta(F^c, y) - E(x, F^c) + E(x, y)]_+ - lambda [E(x, y) - E(x, A)]_+ ).

    Its gradient is 0 wherever a hinge is 0, so that a network which starts badly stays bad (section 4.1).

    # Parameters

    cost : `Cost`, optional (default = `L1Cost()`)
        `Delta`, the cost of the loss-net's margin loss.
    perceptron_weight : `float`, optional (default = `1.0`)
        `lambda`.
    energy_weight : `float`, optional (default = `1.0`)
        `w_e`; 1 in the paper.
    cross_entropy_weight : `float`, optional (default = `1.0`)
        `tau`.
    zero_truncation : `bool`, optional (default = `False`)
        Whether to use the hinges, as above.
    straight_through : `bool`, optional (default = `False`)
        As for `weighted`.
    margin_weight : `float`, optional (default = `1.0`)
        `mu`.
    cost_augmented_cross_entropy_weight : `Optional[float]`, optional (default = `None`)
        The weight of `CE(F^c(x), y)` in the place of `tau`. A `stacked` network reads gold, and cross-entropy teaches
        it to repeat gold: with 0 it learns from the cost and the energy alone.

    # Raises

    `ConfigurationError` if a weight is negative, or `w_e` and `tau`, or `lambda` and `mu`, are both 0.
    """

    takes_cost_augmented = True

    def __init__(
        self,
        cost: Optional[Cost] = None,
        perceptron_weight: float = 1.0,
        energy_weight: float = 1.0,
        cross_entropy_weight: float = 1.0,
        zero_truncation: bool = False,
        straight_through: bool = False,
        margin_weight: float = 1.0,
        cost_augmented_cross_entropy_weight: Optional[float] = None,
    ) -> None:
        super().__init__(energy_weight, cross_entropy_weight, straight_through)
        for name, weight in (("perceptron_weight", perceptron_weight), ("margin_weight", margin_weight)):
            check_range(f"task_loss.{name}", weight, least=0)
        if perceptron_weight == margin_weight == 0:
            raise ConfigurationError("task_loss: perceptron_weight and margin_weight are both 0; set one of them.")
        self.margin_cost = cost or L1Cost()
        self.perceptron_weight, self.margin_weight = perceptron_weight, margin_weight
        self.needs_gold_energy = zero_truncation
        own = cost_augmented_cross_entropy_weight
        check_range("task_loss.cost_augmented_cross_entropy_weight", own, least=0)
        self.cost_augmented_cross_entropy_weight = cross_entropy_weight if own is None else own

    def cost(self, output_space, outputs, gold, mask=None) -> torch.Tensor:
        return self.margin_cost(output_space, outputs, gold, mask)

    def __call__(
        self,
        task_net: NetTerms,
        cost_augmented: Optional[NetTerms] = None,
        gold_energy: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        loss = self.cross_entropy_weight * task_net.supervised
        if cost_augmented is not None:
            loss = loss + self.cost_augmented_cross_entropy_weight * cost_augmented.supervised
        first = cost_augmented or task_net
        if task_net.energy is None or first.energy is None or self.energy_weight == 0:
            return loss
        margin, perceptron = require(first.cost, "task_loss.cost") - first.energy, -task_net.energy
        if self.needs_gold_energy:
            gold_energy = require(gold_energy, "the energy of gold")
            margin, perceptron = torch.relu(margin + gold_energy), torch.relu(perceptron + gold_energy)
        return loss - self.energy_weight * (self.margin_weight * margin + self.perceptron_weight * perceptron)
