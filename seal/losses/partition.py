import math

import torch

from seal.common.setting_checks import check_range, needed
from seal.losses.energy_loss import Comparison, EnergyLoss


@EnergyLoss.register("partition")
class PartitionLoss(EnergyLoss):
    """
    Maximum likelihood with a learned partition function (Sander, Roulet, Liu & Blondel 2025), where outputs are too
    many for a sum. Of an energy `E` that has the term `log_partition` among its own:

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
        exponent = -comparison.energy - needed(candidates.noise_log_prob, "noise_log_prob")
        within = exponent.clamp(max=self.limit).exp()
        weights = within + math.exp(self.limit) * (exponent - self.limit).clamp(min=0)
        return comparison.gold_energy + (counts * weights).sum(dim=1) / counts.sum(dim=1) - 1
