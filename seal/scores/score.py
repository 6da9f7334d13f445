from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.output_spaces import OutputSpace, TagSequence
from seal.registry import ConfigurationError, Registrable


class Score(Registrable):
    """
    The similarity of an output and gold: in [0, 1], 1 where they are equal, and differentiable in relaxed outputs.
    """

    def __eq__(self, other: object) -> bool:
        """Whether both are of one type, with the same settings."""
        return type(self) is type(other) and vars(self) == vars(other)

    def __call__(
        self,
        output_space: OutputSpace,
        outputs: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        # Parameters

        output_space : `OutputSpace`
        outputs : `torch.Tensor`, `(batch, samples, *output)`
        gold : `torch.Tensor`, `(batch, *output)`
        mask : `torch.BoolTensor`, optional
            `(batch, tokens)`, True at real tokens; `None` where all instances have one size.

        # Returns

        `torch.Tensor`, `(batch, samples)`
        """
        raise NotImplementedError


def _check_zero_division(value: float) -> None:
    check_range("score.zero_division", value, least=0, most=1)


def _ratio(numerator: torch.Tensor, denominator: torch.Tensor, zero_division: float) -> torch.Tensor:
    empty = denominator == 0
    return torch.where(empty, zero_division, numerator / denominator.masked_fill(empty, 1.0))


@Score.register("soft_f1")
class SoftF1(Score):
    """
    `2 I / (I + U)` with `I = sum min(y', y)` and `U = sum max(y', y)` (Gygli et al. 2017; SEAL, footnote 2).
    On discrete outputs it is the F1 of the set; on tag sequences, the share of equal tokens.

    # Parameters

    zero_division : `float`, optional (default = `1.0`)
        The score where both the output and gold are empty; 1 makes the cost of gold against itself 0.

    # Raises

    `ConfigurationError` if `zero_division` is not in [0, 1].
    """

    def __init__(self, zero_division: float = 1.0) -> None:
        _check_zero_division(zero_division)
        self._zero_division = zero_division

    def __call__(self, output_space, outputs, gold, mask=None):
        intersection, union = output_space.overlap(outputs, gold, mask)
        return _ratio(2 * intersection, intersection + union, self._zero_division)


@Score.register("soft_iou")
class SoftIoU(Score):
    """
    `I / U` with `I = sum min(y', y)` and `U = sum max(y', y)` (SEAL, NeurIPS 2022, Eq. 10).

    # Parameters

    zero_division : `float`, optional (default = `1.0`)
        The score where both the output and gold are empty.

    # Raises

    `ConfigurationError` if `zero_division` is not in [0, 1].
    """

    def __init__(self, zero_division: float = 1.0) -> None:
        _check_zero_division(zero_division)
        self._zero_division = zero_division

    def __call__(self, output_space, outputs, gold, mask=None):
        intersection, union = output_space.overlap(outputs, gold, mask)
        return _ratio(intersection, union, self._zero_division)


@Score.register("token_accuracy")
class TokenAccuracy(SoftF1):
    """
    The share of tokens with the right tag; for a relaxed tag sequence, the mean probability of the right tag. A token's
    row of the output and its row of gold each sum to 1, so this is `I / tokens`, which equals soft F1.

    # Parameters

    zero_division : `float`, optional (default = `1.0`)
        The score of a sentence without tokens.

    # Raises

    `ConfigurationError` if `zero_division` is not in [0, 1], or the outputs are not tag sequences.
    """

    def __call__(self, output_space, outputs, gold, mask=None):
        if not isinstance(output_space, TagSequence):
            raise ConfigurationError(
                f"score: 'token_accuracy' is of tag sequences, not of {type(output_space).__name__}; take 'soft_f1'."
            )
        return super().__call__(output_space, outputs, gold, mask)
