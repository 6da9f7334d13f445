from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.output_spaces import OutputSpace
from seal.registry import Registrable
from seal.scores.score import Score


class Cost(Registrable):
    """
    The cost `Delta(y', y)`: how much an output differs from gold. It is at least 0, 0 where the two are equal, and
    differentiable in relaxed outputs.
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
        """`(batch, samples)`; the parameters are those of a `Score`."""
        raise NotImplementedError


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
