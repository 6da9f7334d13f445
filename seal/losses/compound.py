from dataclasses import replace
from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.losses.comparison import Comparison
from seal.losses.energy_loss import EnergyLoss
from seal.losses.margin import MarginLoss
from seal.losses.perceptron import PerceptronLoss
from seal.output_spaces import Candidates
from seal.registry import ConfigurationError
from seal.scores import Cost


@EnergyLoss.register("compound")
class CompoundLoss(EnergyLoss):
    """
    The sum of the margin-rescaled hinge and the perceptron's hinge (Tu, Pang & Gimpel 2020, Eq. 6):

        [Delta(F^c(x), y) - E(x, F^c(x)) + E(x, y)]_+  +  lambda [E(x, y) - E(x, A(x))]_+

    Both hinges stay, whether or not the networks' own loss (`inference_network`) has them.

    # Parameters

    cost : `Cost`, optional (default = `L1Cost()`)
        `Delta`.
    perceptron_weight : `float`, optional (default = `1.0`)
        `lambda`.
    separate : `bool`, optional (default = `False`)
        Whether each hinge has a candidate of its own: the first candidate is the cost-augmented network's output
        `F^c(x)`, the second the task-net's `A(x)`. The sampler is then the stack of `cost_augmented_output` and
        `task_net_output`. If not, one network is both, and every candidate enters both hinges (the fourth primary loss
        of implicit training).

    # Raises

    `ConfigurationError` if the weight is negative; with `separate`, if there are not two candidates.
    """

    def __init__(self, cost: Optional[Cost] = None, perceptron_weight: float = 1.0, separate: bool = False) -> None:
        super().__init__()
        check_range("energy_loss.perceptron_weight", perceptron_weight, least=0)
        self._margin, self._perceptron = MarginLoss(cost), PerceptronLoss()
        self.cost = self._margin.cost
        self.perceptron_weight = perceptron_weight
        self.separate = separate

    def forward(self, comparison: Comparison) -> torch.Tensor:
        first = second = comparison
        if self.separate:
            if comparison.energy.shape[1] != 2:
                raise ConfigurationError(
                    "energy_loss.separate: the compound loss of two networks takes two candidates, the cost-augmented "
                    f"network's output and the task-net's; model.sampler gives {comparison.energy.shape[1]}."
                )
            first, second = _only(0, comparison), _only(1, comparison)
        return self._margin(first) + self.perceptron_weight * self._perceptron(second)


def _only(index: int, comparison: Comparison) -> Comparison:
    """The comparison with one of two candidates."""
    chosen, candidates = slice(index, index + 1), comparison.candidates
    one = Candidates(candidates.outputs[:, chosen], log_count=candidates.log_counts()[:, chosen])
    return replace(comparison, energy=comparison.energy[:, chosen], candidates=one)
