"""Output spaces of independent binary variables: label sets and masks of images."""

from functools import reduce
from typing import Any, Optional, Union

import torch
from torch.nn import functional as F

from seal.common.precision import at_least_float
from seal.common.vocabularies import Vocabulary, labels_of
from seal.output_spaces.output_space import OutputSpace, check_relaxed, check_shape, dot, merge_equal
from seal.registry import ConfigurationError

# Below this mean rate of ones, samples are drawn by events (`_samples_of_few`): an event takes about thirty times as
# long as a comparison.
_RARE = 0.03


class BinaryVariables(OutputSpace):
    """
    Independent binary variables, `P(y | x) = prod_i Bernoulli(y_i; sigmoid(logits_i))` (SEAL, NeurIPS 2022,
    section 2), such as the labels of a set or the pixels of a mask.

    `logits` is `(batch, *structure)`. Every output is floating, `(batch, samples, *structure)`, in [0, 1] where
    relaxed and 0 or 1 where discrete. Gold, `(batch, *structure)`, is 0 or 1 of any type. All instances have the
    same size, so there is no mask.
    """

    #: Why this space takes no mask of real positions, for messages.
    no_mask_because = "every instance has all variables"

    def check_outputs(self, outputs: Any, logits: torch.Tensor) -> None:
        batch, *structure = logits.shape
        check_shape(outputs, batch, [structure])
        check_relaxed(outputs)

    def relax(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        self._ensure_no_mask(mask)
        return logits.sigmoid().unsqueeze(1)

    def straight_through(self, relaxed: torch.Tensor) -> torch.Tensor:
        nearest = (relaxed >= 0.5).to(relaxed.dtype)
        return nearest + (relaxed - relaxed.detach())

    @torch.no_grad()
    def sample(self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        self._ensure_no_mask(mask)
        return _samples(logits, num_samples).to(logits.dtype)

    def relaxed_sample(
        self,
        logits: torch.Tensor,
        num_samples: int,
        mask: Optional[torch.Tensor] = None,
        temperature: float = 0.5,
    ) -> torch.Tensor:
        self._ensure_no_mask(mask)
        logits = at_least_float(logits).unsqueeze(1)
        uniform = torch.rand(logits.shape[0], num_samples, *logits.shape[2:], dtype=logits.dtype, device=logits.device)
        # Logistic noise: `logits + noise > 0` is a Bernoulli draw.
        noise = uniform.clamp(min=torch.finfo(logits.dtype).tiny).logit(eps=torch.finfo(logits.dtype).eps)
        return ((logits + noise) / temperature).sigmoid()

    def log_prob(
        self, logits: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        self._ensure_no_mask(mask)
        logits = at_least_float(logits)
        outputs = outputs.to(logits)
        # Two sums of terms of one sign: in `y z - softplus(z)` the small loss of a confident label would cancel.
        return dot(outputs, F.logsigmoid(logits)) + dot(1 - outputs, F.logsigmoid(-logits))

    def inner(self, scores: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        self._ensure_no_mask(mask)
        return dot(outputs, scores)

    def overlap(
        self, outputs: torch.Tensor, gold: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self._ensure_no_mask(mask)
        # Gold is 0 or 1, so the minimum is the product. Where output and gold are equal, the gradient of the product
        # is the one-sided one into [0, 1]; `min` and `max` would halve it, and inference often starts at 0.
        intersection = dot(outputs, gold)
        total = at_least_float(outputs).flatten(2).sum(dim=-1) + gold.flatten(1).sum(dim=-1, keepdim=True)
        return intersection, total - intersection

    def decode(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        self._ensure_no_mask(mask)
        return (logits >= 0).to(logits.dtype)

    def stack(self, *outputs: torch.Tensor) -> torch.Tensor:
        floating = [candidates.dtype for candidates in outputs if candidates.is_floating_point()]
        dtype = reduce(torch.promote_types, floating) if floating else torch.get_default_dtype()
        return super().stack(*(candidates.to(dtype) for candidates in outputs))

    @torch.no_grad()
    def distinct(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> tuple[torch.Tensor, torch.Tensor]:
        self._ensure_no_mask(mask)
        present = outputs.to(torch.bool)
        if not torch.equal(present.to(outputs.dtype), outputs):
            raise TypeError(f"{type(self).__name__}.distinct merges discrete outputs; these are relaxed.")
        return _merged(present, outputs.dtype)

    @torch.no_grad()
    def sample_distinct(
        self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        # Draws stay boolean until they are merged, as most draws of a confident net are equal.
        self._ensure_no_mask(mask)
        return _merged(_samples(logits, num_samples), logits.dtype)

    def project(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        self._ensure_no_mask(mask)
        return outputs.clamp(0, 1)

    def to_logits(self, relaxed: torch.Tensor) -> torch.Tensor:
        # 0 and 1 become 0.001 and 0.999, where the sigmoid still has a slope.
        return relaxed.logit(eps=1e-3)

    def _ensure_no_mask(self, mask: Optional[torch.Tensor]) -> None:
        if mask is not None:
            raise TypeError(f"{type(self).__name__} takes no mask: {self.no_mask_because}.")


def _samples(logits: torch.Tensor, num_samples: int) -> torch.Tensor:
    """Independent draws, boolean, `(batch, samples, *structure)`."""
    logits = at_least_float(logits)
    if F.softplus(logits).mean() < _RARE:
        return _samples_of_few(logits, num_samples)
    shape = (logits.shape[0], num_samples, *logits.shape[1:])
    # `torch.rand` is a multiple of eps / 2, and 0 once in 2^24 times, which is below every positive probability. So
    # probabilities that are almost 0 are set to 0: with thousands of variables they would be drawn in every batch.
    probabilities = F.threshold(logits.sigmoid(), torch.finfo(logits.dtype).eps / 4, 0.0)
    # `torch.bernoulli` branches at each draw, and takes five times as long where the outcomes are hard to predict.
    return torch.rand(shape, dtype=logits.dtype, device=logits.device) < probabilities.unsqueeze(1)


def _samples_of_few(logits: torch.Tensor, num_samples: int) -> torch.Tensor:
    """
    Draws from the same distribution, at a cost that grows with the number of ones. In each draw, let variable `i` have
    a Poisson number of events with the rate `lambda_i = softplus(z_i)`, and be 1 if it has at least one. It has none
    with the probability `exp(-lambda_i) = 1 - sigmoid(z_i)`. The number of events in all variables and draws of an
    instance is one Poisson number. Each event falls on a variable with a probability proportional to `lambda`, and on
    every draw with the same probability.
    """
    rates = F.softplus(logits.flatten(1).double())
    batch, variables = rates.shape
    events = torch.poisson(num_samples * rates.sum(dim=1)).long()
    owner = torch.arange(batch, device=rates.device).repeat_interleave(events)
    bounds = rates.flatten().cumsum(dim=0)
    ends = bounds.unflatten(0, rates.shape)[:, -1]
    starts = F.pad(ends[:-1], (1, 0))
    uniform = torch.rand(len(owner), dtype=rates.dtype, device=rates.device)
    where = torch.searchsorted(bounds, torch.lerp(starts[owner], ends[owner], uniform), right=True)
    # By rounding an event may fall on the first variable of the next instance.
    variable = (where - owner * variables).clamp(0, variables - 1)
    draw = torch.randint(num_samples, (len(owner),), device=rates.device)
    present = torch.zeros(batch, num_samples, variables, dtype=torch.bool, device=rates.device)
    present[owner, draw, variable] = True
    return present.unflatten(2, logits.shape[1:])


def _merged(present: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """`present (batch, samples, *structure)` with equal samples merged, as `dtype`, and their log-counts."""
    words = packed(present.flatten(0, 1).flatten(1)).unflatten(0, present.shape[:2])
    chosen, log_count = merge_equal(words)
    return present.flatten(0, 1)[chosen].to(dtype), log_count


def packed(bits: torch.Tensor) -> torch.Tensor:
    """
    Packs booleans `(rows, variables)` into 64-bit integers, `(rows, words)`. Rows are equal if and only if their words
    are, and sorting words takes a fraction of the time and the memory.
    """
    padded = F.pad(bits.to(torch.uint8), (0, -bits.shape[1] % 64)).contiguous()
    # An integer holds eight variables, each the lowest bit of a byte; seven more such integers, shifted, fill the
    # other bits.
    eights = padded.view(torch.int64).unflatten(1, (-1, 8))
    return (eights << torch.arange(8, device=bits.device)).sum(dim=-1)


@OutputSpace.register("label_set")
class LabelSet(BinaryVariables):
    """
    Any number of `L` labels, each present or absent independently of the others (`BinaryVariables`). `logits` is
    `(batch, labels)`.

    # Parameters

    vocab : `Vocabulary` or `list[str]`
        With the labels, or a list of them.
    namespace : `str`, optional (default = `"labels"`)
        The vocabulary's namespace of the labels.

    # Raises

    `ConfigurationError` if the namespace holds no labels.
    """

    no_mask_because = "every instance has all labels"

    def __init__(self, vocab: Vocabulary, namespace: str = "labels") -> None:
        super().__init__()
        self.namespace = namespace
        self.labels = labels_of(vocab, namespace)
        self.num_labels = len(self.labels)
        if self.num_labels == 0:
            raise ConfigurationError(
                f"output_space.namespace: the vocabulary has no labels in '{namespace}'; name the namespace "
                "the dataset reader gives its labels; or no example of the training data has one."
            )


@OutputSpace.register("binary_mask")
class BinaryMask(BinaryVariables):
    """
    The foreground of an image: a pixel is 1 where it belongs to the foreground (SEAL, NeurIPS 2022, section 4.4).
    These are `BinaryVariables` in `(H, W)`; `logits` is `(batch, H, W)`.

    # Parameters

    size : `int` or `list[int]`
        The height and width of the nets' inputs, in pixels; one number for a square. Smaller than the images where
        these are cropped.

    # Raises

    `ConfigurationError` if the size is not one or two numbers of at least 1.
    """

    no_mask_because = "every pixel of an image is real"
    # One logit a pixel, for a label without a name.
    num_labels = 1
    labels: list[str] = []
    namespace = "mask_labels"

    def __init__(self, size: Union[int, list[int]]) -> None:
        super().__init__()
        sides = [size, size] if isinstance(size, int) else list(size)
        if len(sides) != 2 or min(sides) < 1:
            raise ConfigurationError(
                f"output_space.size: one number for a square, or height and width, of at least 1, not {size}."
            )
        self.height, self.width = sides
