from typing import Optional

import torch

from seal.losses.energy_loss import EnergyLoss
from seal.losses.ranking import log_total
from seal.output_spaces import Candidates, OutputSpace
from seal.scores import Cost, OneMinusScore, SoftF1


@EnergyLoss.register("contrastive_divergence")
class ContrastiveDivergenceLoss(EnergyLoss):
    """
    `-log( exp(-E(x, y)) / sum_{k=0..K} exp(-E(x, y_k) + Delta(y_k, y)) )` with gold at `k = 0`, where `Delta`
    is 0. This is `L_CD` of the implicit-gradient paper, whose `s` is a cost, with the minus sign that it lacks in
    print. In the paper the candidates are draws from the task-net. With one candidate it is
    `softplus(Delta + E(x, y) - E(x, y'))`, a smooth margin loss at most `log 2` above the hinge. The loss is at
    least 0.

    A candidate drawn `n` times counts `n` times, also where it equals gold.

    # Parameters

    cost : `Cost`, optional (default = `OneMinusScore(SoftF1())`)
        `Delta`: how much a candidate differs from gold; 0 for gold.
    """

    def __init__(self, cost: Optional[Cost] = None) -> None:
        super().__init__()
        self.cost = cost or OneMinusScore(SoftF1())

    def forward(
        self,
        gold_energy: torch.Tensor,
        energy: torch.Tensor,
        candidates: Candidates,
        gold: torch.Tensor,
        output_space: OutputSpace,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        rank = self.cost(output_space, candidates.outputs, gold, mask)
        if candidates.log_count is not None:
            rank = rank + candidates.log_count
        ranks = torch.cat([-gold_energy.unsqueeze(1), rank - energy], dim=1)
        return log_total(ranks) + gold_energy
