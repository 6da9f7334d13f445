import torch

from seal.losses.comparison import Comparison
from seal.losses.energy_loss import EnergyLoss
from seal.losses.margin import hinge


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
