import math
from typing import Optional

import torch

from seal.common.setting_checks import check_range, require
from seal.losses.energy_loss import Comparison, EnergyLoss
from seal.output_spaces import RewardedCandidates
from seal.scores import Cost, OneMinusScore, SoftF1, TokenAccuracy

#: A term this many nats below the largest adds nothing to a sum, in single precision or in double.
LOST = 40.0


def log_total(logits: torch.Tensor) -> torch.Tensor:
    """
    `log sum_k exp(r_k)` of `logits (batch, 1 + samples)`: `(batch,)`. Terms more than `LOST` nats below the largest
    have a gradient of exactly 0 in place of 1e-30: the log-probabilities of masks and long sentences are hundreds of
    nats apart, and a net on a CPU takes a hundred times as long for denormal numbers.
    """
    lost = logits < logits.detach().amax(dim=1, keepdim=True) - LOST
    return logits.masked_fill(lost, -torch.inf).logsumexp(dim=1)


@EnergyLoss.register("ranking")
class RankingLoss(EnergyLoss):
    """
    `-log( exp(r_0) / sum_{k=0..K} exp(r_k) )` with `r_k = -E(x, y_k)` and gold at `k = 0` (SEAL, ICLR 2022 submission,
    Eq. 10, with gold in the sum). At the optimum the energy is the gap between the true distribution `P` and the
    sampler's, `P_N`: `E = -log P + log P_N + const`.

    A candidate drawn `n` times counts `n` times, also where it equals gold.
    """

    def forward(self, comparison: Comparison) -> torch.Tensor:
        gold_logit, logits = self._logits(comparison)
        logits = logits + comparison.candidates.log_counts()
        return log_total(torch.cat([gold_logit.unsqueeze(1), logits], dim=1)) - gold_logit

    def _logits(self, comparison: Comparison) -> tuple[torch.Tensor, torch.Tensor]:
        """`r_0` and the other `r_k`: `(batch,)` and `(batch, samples)`."""
        return -comparison.gold_energy, -comparison.energy


@EnergyLoss.register("nce_ranking")
class NceRankingLoss(RankingLoss):
    """
    The ranking form of noise-contrastive estimation, `r_k = -E(x, y_k) - log P_N(y_k | x)` (SEAL, NeurIPS 2022,
    Eq. 8-9 with gold in the sum, after Ma & Collins 2018). It is consistent: at the optimum
    `exp(-E) / sum_y exp(-E) = P(y | x)`.

    The candidates must be draws from `P_N`, with the log-probabilities of the draws and of gold.
    """

    needs_noise_log_prob = True

    def _logits(self, comparison: Comparison) -> tuple[torch.Tensor, torch.Tensor]:
        gold_logit, logits = super()._logits(comparison)
        noise, of_gold = comparison.candidates.noise_log_prob, comparison.candidates.gold_noise_log_prob
        return gold_logit - require(of_gold, "gold_noise_log_prob"), logits - require(noise, "noise_log_prob")


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
    """`ContrastiveDivergenceLoss` with the costs `(batch, samples)`: `(batch,)`."""
    gold_energy = comparison.gold_energy
    logits = cost + comparison.candidates.log_counts() - comparison.energy
    return log_total(torch.cat([-gold_energy.unsqueeze(1), logits], dim=1)) + gold_energy


@EnergyLoss.register("rewarded_contrastive_divergence")
class RewardedContrastiveDivergenceLoss(ContrastiveDivergenceLoss):
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

    def __init__(self, cost: Optional[Cost] = None) -> None:
        super().__init__(cost or OneMinusScore(TokenAccuracy()))

    def forward(self, comparison: Comparison) -> torch.Tensor:
        candidates = comparison.candidates
        if not isinstance(candidates, RewardedCandidates):
            raise TypeError("rewarded_contrastive_divergence: the candidates have no rewards.")
        labelled, gap = candidates.labelled, candidates.reward_gap
        cost = torch.where(labelled.unsqueeze(1), comparison.measured(self.cost), gap)
        loss = contrastive_divergence(comparison, cost)
        return loss * (labelled | (gap > 0).any(dim=1))


@EnergyLoss.register("partition")
class PartitionLoss(EnergyLoss):
    """
    Maximum likelihood with a learned partition function (Sander, Roulet, Liu & Blondel 2025), where outputs are too
    many for a sum. For an energy `E` with the term `log_partition`:

        L = E(x, y) + mean_k exp(u_k) - 1,   u_k = -E(x, y_k) - log P_N(y_k | x)

    Its expectation over draws `y_k` of `P_N` is `E(x, y) + sum_y' exp(-E(x, y')) - 1`. Because `log Z` is the minimum
    of `t + Z exp(-t) - 1`, at `t = log Z`, the minimum over the term `tau(x)` is at `tau(x) = log Z(x)`. There the loss
    is `-log P(y | x)`, and so is its gradient by the other terms. One minimisation learns both, without the bias of a
    ratio of means over few draws: the ranking form of NCE (`nce_ranking`) has the mean over the present draws in the
    place of `Z`.

    The candidates must be draws from `P_N` with their log-probability. A candidate drawn `n` times counts `n` times.

    # Parameters

    limit : `float`, optional (default = `5.0`)
        In nats. Above it `exp(u)` is continued by its tangent, so that a draw that `P_N` all but rules out does not
        outweigh the batch. It is exact where no output has more than `exp(limit)` times its probability under `P_N`.
    """

    needs_noise_log_prob = True

    def __init__(self, limit: float = 5.0) -> None:
        super().__init__()
        check_range("energy_loss.limit", limit, least=0)
        self.limit = limit

    def forward(self, comparison: Comparison) -> torch.Tensor:
        candidates = comparison.candidates
        counts = candidates.log_counts().exp()
        exponent = -comparison.energy - require(candidates.noise_log_prob, "noise_log_prob")
        within = exponent.clamp(max=self.limit).exp()
        weights = within + math.exp(self.limit) * (exponent - self.limit).clamp(min=0)
        return comparison.gold_energy + (counts * weights).sum(dim=1) / counts.sum(dim=1) - 1
