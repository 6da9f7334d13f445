import math

import torch

from seal.common.setting_checks import check_range
from seal.losses.task_loss import TaskLoss


@TaskLoss.register("through_draws")
class ThroughDrawsLoss(TaskLoss):
    """
    The energy of whole, discrete outputs in place of a relaxed one:

    `L_F = energy_weight * -log E_q[exp(-E(x, y))] + cross_entropy_weight * CE(F(x), y)`, `q(y) = P(y | x)`.

    The expectation is a mean over `K` draws, `-log (1/K) sum_k exp(-E(x, y_k))`, and its gradient goes through the
    draws' log-probabilities, re-weighted towards low energies:

    `grad = -sum_k (w_k - 1/K) grad log P(y_k | x)`, `w = softmax(-E(x, y_1), ..., -E(x, y_K))`.

    The gradient of `-log E_q[exp(-E)]` is `-E_p[grad log P(y | x)]` with `p(y)` proportional to `q(y) exp(-E(x, y))`;
    the `1/K` subtracts a term with the expectation 0. Value and gradient are consistent but biased: both converge to
    the value and gradient of the expectation as `K` grows. The mean of the value is never below it (Jensen's
    inequality). The mean of the gradient, a ratio of two means over the same draws (self-normalised importance
    sampling), differs by about `1/K`, mostly towards 0: where few draws have a low energy, it may be half as long at `K
    = 5`. `jackknife` takes off the first order of that (Quenouille 1956): in the place of `w` it has `K w - (K - 1) v`,
    where `v` is the mean of the `K` weightings that leave out one draw each. The rest is about `1/K^2`; at few draws
    the gradient varies up to twice as much.

    A loss-net that was trained to rank draws has seen no relaxed output, and its slope there need not mean anything.

    # Parameters

    num_samples : `int`, optional (default = `20`)
        `K`, at least 2.
    energy_weight, cross_entropy_weight : as for `weighted`
    jackknife : `bool`, optional (default = `False`)
        Whether the gradient is corrected so.

    # Raises

    `ConfigurationError` if `num_samples` is below 2, or as for `weighted`.
    """

    draws = True
    through_draws = True

    def __init__(
        self,
        num_samples: int = 20,
        energy_weight: float = 1.0,
        cross_entropy_weight: float = 1.0,
        jackknife: bool = False,
    ) -> None:
        super().__init__(energy_weight, cross_entropy_weight)
        check_range("task_loss.num_samples", num_samples, least=2)
        self._num_samples = num_samples
        self._jackknife = jackknife

    def energy_of_samples(self, output_space, logits, energy, mask=None) -> torch.Tensor:
        """The value of `-log E_q[exp(-E)]` by the draws, with the gradient above: `(batch,)`."""
        drawn, log_count = output_space.sample_distinct(logits.detach(), self._num_samples, mask)
        with torch.no_grad():
            energies, number = energy(drawn), self._num_samples
            scores = log_count - energies
            # Equal draws are one with their count, fillers have none.
            weights, share = scores.softmax(dim=1), log_count.exp() / number
            if self._jackknife:
                weights = number * weights - (number - 1) * _left_out(log_count, energies, share)
            excess = weights - share
            value = math.log(self._num_samples) - scores.logsumexp(dim=1)
        # A filler repeats a candidate of its own row, so that its log-probability is finite.
        through = -(excess * output_space.log_prob(logits, drawn, mask)).sum(dim=1)
        return value + (through - through.detach())


def _left_out(log_count: torch.Tensor, energies: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """The mean of the weights without one draw, each in turn: `(batch, distinct)`."""
    one = torch.eye(log_count.shape[1], dtype=log_count.dtype, device=log_count.device)
    counts = (log_count.exp().unsqueeze(1) - one).clamp(min=0)
    # Counts are whole, and rounding leaves a little of a draw that was the only one.
    without = counts.round().log() - energies.unsqueeze(1)
    return (share.unsqueeze(2) * without.softmax(dim=2)).sum(dim=1)
