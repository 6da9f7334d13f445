from typing import Optional

import torch

from seal.losses.contrastive_divergence import contrastive_divergence
from seal.losses.energy_loss import EnergyLoss
from seal.output_spaces import Candidates, OutputSpace, RewardedCandidates
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

    def forward(
        self,
        gold_energy: torch.Tensor,
        energy: torch.Tensor,
        candidates: Candidates,
        gold: torch.Tensor,
        output_space: OutputSpace,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        if not isinstance(candidates, RewardedCandidates):
            raise TypeError("rewarded_contrastive_divergence: the candidates have no rewards.")
        labelled, gap = candidates.labelled, candidates.reward_gap
        cost = torch.where(labelled.unsqueeze(1), self.cost(output_space, candidates.outputs, gold, mask), gap)
        loss = contrastive_divergence(gold_energy, energy, cost, candidates)
        return loss * (labelled | (gap > 0).any(dim=1))
