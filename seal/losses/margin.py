from typing import Optional

import torch

from seal.losses.comparison import Comparison
from seal.losses.energy_loss import EnergyLoss
from seal.output_spaces import Candidates
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
