from typing import Optional

import torch

from seal.common.setting_checks import check_choice
from seal.losses.task_loss import TaskLoss
from seal.output_spaces import OutputSpace
from seal.registry import ConfigurationError

#: The weight of step `t` of `T` steps, before all are scaled to a sum of 1.
WEIGHTS = ("late", "equal")


@TaskLoss.register("every_step")
class EveryStepLoss(TaskLoss):
    """
    Cross-entropy at every step of a net that finds its output in steps, such as the task-net `unrolled`:

        sum_{t=1..T} w_t CE(z_t, y),   w_t ~ 1 / (T - t + 1)

    with logits `z_t` after step `t`. It asks for a descent that is good early (Belanger, Yang & McCallum 2017). The
    weights add up to 1, so that learning rates need not change with `T`.

    # Parameters

    weights : `str`, optional (default = `"late"`)
        `"late"`: `w_t` as above. `"equal"`: all are `1 / T`.
    energy_weight : `float`, optional (default = `0.0`)
    cross_entropy_weight : `float`, optional (default = `1.0`)
        The weight of the sum.
    straight_through : `bool`, optional (default = `False`)
        As for `weighted`.

    # Raises

    `ConfigurationError` for other weights, as for `weighted`, and in training if the net has no steps.
    """

    def __init__(
        self,
        weights: str = "late",
        energy_weight: float = 0.0,
        cross_entropy_weight: float = 1.0,
        straight_through: bool = False,
    ) -> None:
        super().__init__(energy_weight, cross_entropy_weight, straight_through)
        check_choice("task_loss.weights", weights, WEIGHTS)
        self._weights = weights

    def supervised_in_steps(
        self,
        output_space: OutputSpace,
        earlier: Optional[torch.Tensor],
        logits: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        if earlier is None:
            raise ConfigurationError(
                "task_loss: 'every_step' is for a task_net that finds its output in steps, of type 'unrolled'; take "
                "'weighted'."
            )
        iterates = [*earlier.unbind(dim=1), logits]
        steps = len(iterates)
        shares = [1 / (steps - step) if self._weights == "late" else 1.0 for step in range(steps)]
        losses = [self.supervised(output_space, iterate, gold, mask) for iterate in iterates]
        return sum((share / sum(shares) * loss for share, loss in zip(shares, losses)), torch.zeros(()))
