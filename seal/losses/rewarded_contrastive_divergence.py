from typing import Optional

import torch

from seal.losses.comparison import Comparison
from seal.losses.contrastive_divergence import contrastive_divergence
from seal.losses.energy_loss import EnergyLoss
from seal.output_spaces import RewardedCandidates
from seal.scores import Cost, OneMinusScore, TokenAccuracy


@EnergyLoss.register("rewarded_contrastive_divergence")
class RewardedContrastiveDivergenceLoss(EnergyLoss):
    """
    Contrastive divergence for batches in which some rows have gold and others only a reward `R` (implicit-training
    paper, "Citation Field Extraction"):

        -log( exp(-E(x, y)) / sum_{k=0..K} exp(-E(x, y_k) + Delta(y_k)) )

    At `k = 0` stands `y`, with `Delta = 0`: gold or, in a row without gold, `y+`, the output of the highest reward that
    a search found. In a row with gold `Delta` is the cost. In a row without gold it is `R(x, y+) - R(x, y_k)`, a
    constant, because the reward's rules have no gradient. A row without gold whose candidates all have the reward of
    `y+` carries no information, and its loss is 0.

    # Parameters

    cost : `Cost`, optional (default = `OneMinusScore(TokenAccuracy())`)
        `Delta` in rows with gold.
    """

    needs_rewards = True

    cost: Cost

    def __init__(self, cost: Optional[Cost] = None) -> None:
        super().__init__()
        self.cost = cost or OneMinusScore(TokenAccuracy())

    def forward(self, comparison: Comparison) -> torch.Tensor:
        candidates = comparison.candidates
        if not isinstance(candidates, RewardedCandidates):
            raise TypeError("rewarded_contrastive_divergence: the candidates have no rewards.")
        labelled, gap = candidates.labelled, candidates.reward_gap
        cost = torch.where(labelled.unsqueeze(1), comparison.measured(self.cost), gap)
        loss = contrastive_divergence(comparison, cost)
        return loss * (labelled | (gap > 0).any(dim=1))
