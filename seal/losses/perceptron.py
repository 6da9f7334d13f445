from typing import Optional

import torch

from seal.losses.energy_loss import EnergyLoss
from seal.losses.margin import hinge
from seal.output_spaces import Candidates, OutputSpace


@EnergyLoss.register("perceptron")
class PerceptronLoss(EnergyLoss):
    """
    The perceptron's hinge, `[E(x, y) - E(x, y')]_+` summed over the candidates `y'` (Tu, Pang & Gimpel 2020, Eq. 5,
    second term; LE2). One candidate, the output of the test-time network, in the paper. It is the margin loss
    without a cost: gold need only be as good as the candidate, not better by a margin.

    The hinge stays: a network's output is not the exact minimiser of the energy, and may have more of it than gold.
    """

    def forward(
        self,
        gold_energy: torch.Tensor,
        energy: torch.Tensor,
        candidates: Candidates,
        gold: torch.Tensor,
        output_space: OutputSpace,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        return hinge(gold_energy.unsqueeze(1) - energy, candidates)
