"""The hinges of margin and perceptron, and their sum."""

from dataclasses import replace
from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.losses.energy_loss import Comparison, EnergyLoss
from seal.output_spaces import Candidates
from seal.registry import ConfigurationError
from seal.scores import Cost, L1Cost


@EnergyLoss.register("margin")
class MarginLoss(EnergyLoss):
    """
    The margin-rescaled hinge, `[Delta(y', y) - E(x, y') + E(x, y)]_+` summed over the candidates `y'` (SEAL,
    NeurIPS 2022, Eq. 6; Tu, Pang & Gimpel 2020, Eq. 4). In the papers there is one candidate, the task-net's output.

    # Parameters

    cost : `Cost`, optional (default = `L1Cost()`)
        `Delta`, how much a candidate differs from gold.
    """

    cost: Cost

    def __init__(self, cost: Optional[Cost] = None) -> None:
        super().__init__()
        self.cost = cost or L1Cost()

    def forward(self, comparison: Comparison) -> torch.Tensor:
        violation = comparison.measured(self.cost) - comparison.energy + comparison.gold_energy.unsqueeze(1)
        return hinge(violation, comparison.candidates)


def hinge(violation: torch.Tensor, candidates: Candidates) -> torch.Tensor:
    """`[violation]_+` of `(batch, samples)`, summed over the candidates, each as often as it was drawn: `(batch,)`."""
    return (torch.relu(violation) * candidates.log_counts().exp()).sum(dim=1)


@EnergyLoss.register("perceptron")
class PerceptronLoss(EnergyLoss):
    """
    The perceptron's hinge, `[E(x, y) - E(x, y')]_+` summed over the candidates `y'` (Tu, Pang & Gimpel 2020, Eq. 5,
    second term). In the paper there is one candidate, the output of the test-time network. It is the margin loss
    without a cost: gold need only be as good as the candidate, not better by a margin.

    A network's output only approximates the minimiser of the energy, so its energy may be higher than gold's; the
    hinge is then 0.
    """

    def forward(self, comparison: Comparison) -> torch.Tensor:
        return hinge(comparison.gold_energy.unsqueeze(1) - comparison.energy, comparison.candidates)


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
                    f"network's output and the task-net's; the sampler gives {comparison.energy.shape[1]}."
                )
            first, second = _only(0, comparison), _only(1, comparison)
        return self._margin(first) + self.perceptron_weight * self._perceptron(second)


def _only(index: int, comparison: Comparison) -> Comparison:
    """The comparison with one of two candidates."""
    chosen, candidates = slice(index, index + 1), comparison.candidates
    one = Candidates(candidates.outputs[:, chosen], log_count=candidates.log_counts()[:, chosen])
    return replace(comparison, energy=comparison.energy[:, chosen], candidates=one)
