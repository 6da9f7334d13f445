from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.losses.task_loss import TaskLoss
from seal.output_spaces import OutputSpace


@TaskLoss.register("task_net_ranking")
class TaskNetRankingLoss(TaskLoss):
    """
    The ranking loss on the task-net itself, in place of cross-entropy (SEAL, NeurIPS 2022, section 5, an
    ablation): `-log( P(y | x) / sum_{k=0..K} P(y_k | x) )` with gold `y_0 = y` and `K` draws `y_k` from the
    task-net. The draws are constants; the gradient passes through the log-probabilities. The loss is at least 0.
    A draw made `n` times counts `n` times, also where it equals gold.

    # Parameters

    num_samples : `int`, optional (default = `20`)
        `K`.
    energy_weight : `float`, optional (default = `0.0`)
    cross_entropy_weight : `float`, optional (default = `1.0`)
        The weight of this loss.
    straight_through : `bool`, optional (default = `False`)
        As for `weighted`.

    # Raises

    `ConfigurationError` if `num_samples` is below 1, or as for `weighted`.
    """

    supervised_name = "task_net_ranking"
    draws = True

    def __init__(
        self,
        num_samples: int = 20,
        energy_weight: float = 0.0,
        cross_entropy_weight: float = 1.0,
        straight_through: bool = False,
    ) -> None:
        super().__init__(energy_weight, cross_entropy_weight, straight_through)
        check_range("task_loss.num_samples", num_samples, least=1)
        self._num_samples = num_samples

    def supervised(
        self,
        output_space: OutputSpace,
        logits: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        draws = output_space.sample(logits.detach(), self._num_samples, mask)
        outputs = output_space.stack(gold.unsqueeze(1), draws)
        return -output_space.log_prob(logits, outputs, mask).log_softmax(dim=1)[:, 0]
