import math
from collections.abc import Callable
from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.losses.task_loss import TaskLoss
from seal.output_spaces import OutputSpace


@TaskLoss.register("through_draws")
class ThroughDrawsLoss(TaskLoss):
    """
    The energy of whole, discrete outputs in place of a relaxed one:

    `L_F = energy_weight * -log E_q[exp(-E(x, y))] + cross_entropy_weight * CE(F(x), y)`, `q(y) = P(y | x)`.

    The expectation is a mean over `K` draws, `-log (1/K) sum_k exp(-E(x, y_k))`, and its gradient goes through the
    draws' log-probabilities, re-weighted towards low energies:

    `grad = -sum_k (w_k - 1/K) grad log P(y_k | x)`, `w = softmax(-E(x, y_1), ..., -E(x, y_K))`.

    The gradient of `-log E_q[exp(-E)]` is `-E_w[grad log P]`; the `1/K` takes off what is 0 in expectation. A loss-net
    that was trained to rank draws has seen no relaxed output, and its slope there need not mean anything.

    # Parameters

    num_samples : `int`, optional (default = `20`)
        `K`, at least 2.
    energy_weight, cross_entropy_weight : as for `weighted`

    # Raises

    `ConfigurationError` if `num_samples` is below 2, or as for `weighted`.
    """

    draws = True
    through_draws = True

    def __init__(self, num_samples: int = 20, energy_weight: float = 1.0, cross_entropy_weight: float = 1.0) -> None:
        super().__init__(energy_weight, cross_entropy_weight)
        check_range("task_loss.num_samples", num_samples, least=2)
        self._num_samples = num_samples

    def energy_of_draws(
        self,
        output_space: OutputSpace,
        logits: torch.Tensor,
        energy: Callable[[torch.Tensor], torch.Tensor],
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """The value of `-log E_q[exp(-E)]` by the draws, with the gradient above: `(batch,)`."""
        drawn, log_count = output_space.sample_distinct(logits.detach(), self._num_samples, mask)
        with torch.no_grad():
            scores = log_count - energy(drawn)
            # Equal draws are one with their count, fillers have none.
            excess = scores.softmax(dim=1) - log_count.exp() / self._num_samples
            value = math.log(self._num_samples) - scores.logsumexp(dim=1)
        # A filler repeats a candidate of its own row, so that its log-probability is finite.
        through = -(excess * output_space.log_prob(logits, drawn, mask)).sum(dim=1)
        return value + (through - through.detach())
