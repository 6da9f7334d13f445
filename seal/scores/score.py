import copy
from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.output_spaces import OutputSpace, TagSequence
from seal.registry import ConfigurationError, Registrable


class _Measure(Registrable):
    """What `Score` and `Cost` have in common: a comparison of outputs with gold."""

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


class Score(_Measure):
    """
    The similarity of an output and gold: in [0, 1], 1 where they are equal, and differentiable in relaxed outputs.
    """

    def for_cost(self) -> "Score":
        """The same score, but 1 wherever output and gold are equal, so also where both are empty."""
        return self


class _Ratio(Score):
    """A score that is a ratio. It is undefined where both the output and gold are empty."""

    def __init__(self, zero_division: float = 1.0) -> None:
        check_range("score.zero_division", zero_division, least=0, most=1)
        self._zero_division = zero_division

    def for_cost(self) -> Score:
        score = copy.copy(self)
        score._zero_division = 1.0
        return score

    def _ratio(self, numerator: torch.Tensor, denominator: torch.Tensor) -> torch.Tensor:
        empty = denominator == 0
        return torch.where(empty, self._zero_division, numerator / denominator.masked_fill(empty, 1.0))


@Score.register("soft_f1")
class SoftF1(_Ratio):
    """
    `2 I / (I + U)` with `I = sum min(y', y)` and `U = sum max(y', y)` (Gygli et al. 2017; SEAL, footnote 2).
    On discrete outputs it is the F1 of the set; on tag sequences, the share of equal tokens.

    # Parameters

    zero_division : `float`, optional (default = `1.0`)
        The score where both the output and gold are empty. In a cost it is always 1.

    # Raises

    `ConfigurationError` if `zero_division` is not in [0, 1].
    """

    def __call__(self, output_space, outputs, gold, mask=None):
        intersection, union = output_space.overlap(outputs, gold, mask)
        return self._ratio(2 * intersection, intersection + union)


@Score.register("soft_iou")
class SoftIoU(_Ratio):
    """
    `I / U` with `I = sum min(y', y)` and `U = sum max(y', y)` (SEAL, NeurIPS 2022, Eq. 10).

    # Parameters

    zero_division : `float`, optional (default = `1.0`)
        The score where both the output and gold are empty.

    # Raises

    `ConfigurationError` if `zero_division` is not in [0, 1].
    """

    def __call__(self, output_space, outputs, gold, mask=None):
        intersection, union = output_space.overlap(outputs, gold, mask)
        return self._ratio(intersection, union)


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


class Cost(_Measure):
    """
    The cost `Delta(y', y)`: how much an output differs from gold. It is at least 0, 0 where the two are equal, and
    differentiable in relaxed outputs.
    """


@Cost.register("l1")
class L1Cost(Cost):
    """
    `sum_i |y'_i - y_i| = U - I` (Tu, Pang & Gimpel 2020, section 2). A wrong token of a tag sequence counts
    twice, once for the tag that it has and once for the one that is missing: the range is [0, 2 tokens].
    """

    def __call__(self, output_space, outputs, gold, mask=None):
        intersection, union = output_space.overlap(outputs, gold, mask)
        return union - intersection


@Cost.register("hamming")
class HammingCost(L1Cost):
    """
    The number of wrong variables of a discrete output: of tokens, labels or pixels. The share of wrong tokens is
    `one_minus` the score `token_accuracy`.
    """

    def __call__(self, output_space, outputs, gold, mask=None):
        return super().__call__(output_space, outputs, gold, mask) / output_space.l1_per_error


@Cost.register("one_minus")
class OneMinusScore(Cost):
    """
    `scale * (1 - score(y', y))`, in [0, scale].

    # Parameters

    score : `Score`
        Its `zero_division` counts as 1, as the cost of gold against itself is 0.
    scale : `float`, optional (default = `1.0`)
        The cost of the worst output, in units of the energy; above 0.

    # Raises

    `ConfigurationError` for any other scale.
    """

    def __init__(self, score: Score, scale: float = 1.0) -> None:
        check_range("cost.scale", scale, above=0)
        self._score, self._scale = score.for_cost(), scale

    def __call__(self, output_space, outputs, gold, mask=None):
        return self._scale * (1 - self._score(output_space, outputs, gold, mask))
