from typing import Optional

import torch

from seal.losses.energy_loss import Comparison, EnergyLoss
from seal.losses.ranking import log_total
from seal.output_spaces import RewardedCandidates
from seal.scores import Cost, OneMinusScore, SoftF1, TokenAccuracy


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

    cost: Cost

    def __init__(self, cost: Optional[Cost] = None) -> None:
        super().__init__()
        self.cost = cost or OneMinusScore(SoftF1())

    def forward(self, comparison: Comparison) -> torch.Tensor:
        return contrastive_divergence(comparison, comparison.measured(self.cost))


def contrastive_divergence(comparison: Comparison, cost: torch.Tensor) -> torch.Tensor:
    """
    `-log( exp(-E(x, y)) / sum_{k=0..K} n_k exp(-E(x, y_k) + Delta_k) )` with `y` at `k = 0`, where `Delta` is 0.

    # Parameters

    comparison : `Comparison`
        The counts of its candidates are the `n_k`.
    cost : `torch.Tensor`, `(batch, samples)`
        `Delta_k`.

    # Returns

    `torch.Tensor`, `(batch,)`
    """
    gold_energy = comparison.gold_energy
    logits = cost + comparison.candidates.log_counts() - comparison.energy
    return log_total(torch.cat([-gold_energy.unsqueeze(1), logits], dim=1)) + gold_energy


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
