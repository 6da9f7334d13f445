from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.constraints import Constraint, Declared
from seal.losses.task_loss import TaskLoss
from seal.output_spaces import BinaryMask, OutputSpace, TagSequence
from seal.registry import ConfigurationError


@TaskLoss.register("constrained")
class ConstrainedLoss(TaskLoss):
    """
    Cross-entropy, and how far the relaxed output breaks declared rules, an energy with nothing to learn:

    `CE(F(x), y) + weight * sum_c v_c(relax(F(x)))`

    With the rule that no core role occurs twice this is the structured tuning of Li et al. (2020), whose `v` are of
    another form: theirs add up pairs of tokens in log-space, and these are expected counts above the limit.

    # Parameters

    constraints : `list[Constraint]`
        See `seal.constraints`.
    weight : `float`, optional (default = `1.0`)
        In nats for each violation; at least 0.
    energy_weight : `float`, optional (default = `0.0`)
    cross_entropy_weight : `float`, optional (default = `1.0`)
        The weight of the sum above.
    straight_through : `bool`, optional (default = `False`)
        As for `weighted`.

    # Raises

    `ConfigurationError` as for `weighted`, without any rule, for a negative weight, and at the first batch if outputs
    are masks or a rule names a label that is not there.
    """

    supervised_name = "constrained_cross_entropy"

    def __init__(
        self,
        constraints: list[Constraint],
        weight: float = 1.0,
        energy_weight: float = 0.0,
        cross_entropy_weight: float = 1.0,
        straight_through: bool = False,
    ) -> None:
        super().__init__(energy_weight, cross_entropy_weight, straight_through)
        check_range("task_loss.weight", weight, least=0)
        if not constraints:
            raise ConfigurationError("task_loss.constraints: give at least one rule, or take the loss 'weighted'.")
        self._constraints, self._weight = constraints, weight
        self._declared: Optional[Declared] = None

    def supervised(
        self,
        output_space: OutputSpace,
        logits: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        if self._declared is None:
            self._declared = self._declare(output_space)
        declared = self._declared.to(logits.device)
        violations = declared(output_space.relax(logits, mask), mask).squeeze(1).sum(dim=-1)
        return output_space.cross_entropy(logits, gold, mask) + self._weight * violations

    def _declare(self, output_space: OutputSpace) -> Declared:
        if isinstance(output_space, BinaryMask):
            raise ConfigurationError("task_loss.constraints: rules are about labels and tags; masks have none.")
        sequences = isinstance(output_space, TagSequence)
        encoding = output_space.encoding if isinstance(output_space, TagSequence) else None
        return Declared(self._constraints, output_space.labels, sequences, encoding)
