import torch

from seal.common.setting_checks import needed
from seal.losses.energy_loss import Comparison, EnergyLoss

#: A term this many nats below the largest adds nothing to a sum, in single precision or in double.
LOST = 40.0


def log_total(logits: torch.Tensor) -> torch.Tensor:
    """
    `log sum_k exp(r_k)` of `logits (batch, 1 + samples)`: `(batch,)`. Terms more than `LOST` nats below the largest
    have a gradient of exactly 0, and not of 1e-30: the log-probabilities of masks and long sentences are hundreds of
    nats apart, and on a CPU a net takes a hundred times as long for numbers close to the smallest that there are.
    """
    lost = logits < logits.detach().amax(dim=1, keepdim=True) - LOST
    return logits.masked_fill(lost, -torch.inf).logsumexp(dim=1)


@EnergyLoss.register("ranking")
class RankingLoss(EnergyLoss):
    """
    `-log( exp(r_0) / sum_{k=0..K} exp(r_k) )` with `r_k = -E(x, y_k)` and gold at `k = 0` (SEAL, ICLR 2022
    submission, Eq. 10, with gold in the sum). At the optimum the energy is the gap between the true distribution `P`
    and that of the sampler, `P_N`: `E = -log P + log P_N + const`.

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

    The candidates must be draws from `P_N`, with their log-probability and that of gold.
    """

    needs_noise_log_prob = True

    def _logits(self, comparison: Comparison) -> tuple[torch.Tensor, torch.Tensor]:
        gold_logit, logits = super()._logits(comparison)
        noise, of_gold = comparison.candidates.noise_log_prob, comparison.candidates.gold_noise_log_prob
        return gold_logit - needed(of_gold, "gold_noise_log_prob"), logits - needed(noise, "noise_log_prob")
