from typing import Optional, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from torch.nn import functional as F

from seal.output_spaces.distinct import merge_equal
from seal.output_spaces.output_space import OutputSpace


@OutputSpace.register("label_set")
class LabelSet(OutputSpace):
    """
    Any number of `L` labels, `P(y | x) = prod_i Bernoulli(y_i; sigmoid(logits_i))` (SEAL, NeurIPS 2022,
    section 2).

    `logits` is `(batch, labels)`. Every output is floating, `(batch, samples, labels)`, in [0, 1] where
    relaxed and 0 or 1 where discrete. Gold, `(batch, labels)`, is 0 or 1 of any type. All instances have the
    same size, so there is no mask.

    # Parameters

    vocab : `Vocabulary`
    namespace : `str`, optional (default = `"labels"`)
        The vocabulary's namespace of the labels.

    # Raises

    `ConfigurationError` if the namespace holds no labels.
    """

    l1_per_error = 1.0

    def __init__(self, vocab: Vocabulary, namespace: str = "labels") -> None:
        super().__init__()
        self.namespace = namespace
        self.num_labels = vocab.get_vocab_size(namespace)
        if self.num_labels == 0:
            raise ConfigurationError(
                f"output_space.namespace: the vocabulary has no labels in '{namespace}'; name the namespace "
                "the dataset reader gives its labels."
            )
        self.labels = [vocab.get_token_from_index(i, namespace) for i in range(self.num_labels)]

    def relax(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        _ensure_no_mask(mask)
        return logits.sigmoid().unsqueeze(1)

    def straight_through(self, relaxed: torch.Tensor) -> torch.Tensor:
        nearest = (relaxed >= 0.5).to(relaxed.dtype)
        return nearest + relaxed - relaxed.detach()

    @torch.no_grad()
    def sample(
        self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        _ensure_no_mask(mask)
        probabilities = _at_least_float(logits).sigmoid().unsqueeze(1)
        # shape: (batch, samples, labels)
        drawn = torch.bernoulli(probabilities.expand(-1, num_samples, -1))
        return drawn.to(logits.dtype)

    def relaxed_sample(
        self,
        logits: torch.Tensor,
        num_samples: int,
        mask: Optional[torch.Tensor] = None,
        temperature: float = 0.5,
    ) -> torch.Tensor:
        _ensure_no_mask(mask)
        logits = _at_least_float(logits).unsqueeze(1)
        uniform = torch.rand(
            logits.shape[0], num_samples, logits.shape[2], dtype=logits.dtype, device=logits.device
        )
        # The logistic noise that makes a Bernoulli draw of a comparison with 0.
        noise = uniform.clamp(min=torch.finfo(logits.dtype).tiny).logit(eps=torch.finfo(logits.dtype).eps)
        return ((logits + noise) / temperature).sigmoid()

    def log_prob(
        self, logits: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        _ensure_no_mask(mask)
        logits = _at_least_float(logits)
        outputs = outputs.to(logits)
        # Two sums of terms of one sign: `y z - softplus(z)` would lose what is left of a sure label.
        return _dot(outputs, F.logsigmoid(logits)) + _dot(1 - outputs, F.logsigmoid(-logits))

    def inner(
        self, scores: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        _ensure_no_mask(mask)
        return _dot(outputs, scores)

    def overlap(
        self, outputs: torch.Tensor, gold: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        _ensure_no_mask(mask)
        # Gold is 0 or 1, so the minimum is the product. Where the two are equal its gradient is that of the
        # only way into [0, 1]; that of `min` and `max` is halved there, and inference often starts at 0.
        intersection = _dot(outputs, gold)
        total = _at_least_float(outputs).sum(dim=-1) + gold.sum(dim=-1, keepdim=True)
        return intersection, total - intersection

    def decode(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        _ensure_no_mask(mask)
        return (logits >= 0).to(logits.dtype)

    def stack(self, *outputs: torch.Tensor) -> torch.Tensor:
        dtype = torch.get_default_dtype()
        floating = [candidates.dtype for candidates in outputs if candidates.is_floating_point()]
        if floating:
            dtype = floating[0]
            for other in floating[1:]:
                dtype = torch.promote_types(dtype, other)
        return super().stack(*(candidates.to(dtype) for candidates in outputs))

    @torch.no_grad()
    def distinct(
        self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        _ensure_no_mask(mask)
        present = outputs.to(torch.bool)
        if not torch.equal(present.to(outputs.dtype), outputs):
            raise TypeError("LabelSet.distinct merges discrete outputs; these are relaxed.")
        chosen, log_count = merge_equal(packed(present.flatten(0, 1)).unflatten(0, outputs.shape[:2]))
        return outputs.flatten(0, 1)[chosen], log_count

    def project(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        _ensure_no_mask(mask)
        return outputs.clamp(0, 1)

    def to_logits(self, relaxed: torch.Tensor) -> torch.Tensor:
        # 0.001 and 0.999 for 0 and 1: a sigmoid still has a slope there.
        return relaxed.logit(eps=1e-3)


def packed(bits: torch.Tensor) -> torch.Tensor:
    """
    `(rows, labels)` booleans, 64 of them in an integer: `(rows, words)`. Rows are equal where their words
    are, and sorting words takes a fraction of the time and the memory.
    """
    padded = F.pad(bits.to(torch.uint8), (0, -bits.shape[1] % 64)).contiguous()
    # Eight labels in an integer, each the lowest bit of a byte; eight such integers fit into each other's
    # gaps.
    eights = padded.view(torch.int64).unflatten(1, (-1, 8))
    return (eights << torch.arange(8, device=bits.device)).sum(dim=-1)


def _dot(outputs: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """
    `sum_i outputs[b, k, i] vectors[b, i]`: `(batch, samples)`. At least in single precision, also in mixed
    precision: in half, a log-probability or a count of thousands of labels is off by whole units.
    """
    dtype = torch.promote_types(torch.promote_types(outputs.dtype, vectors.dtype), torch.float)
    with torch.autocast(outputs.device.type, enabled=False):
        return torch.einsum("bkl,bl->bk", outputs.to(dtype), vectors.to(dtype))


def _at_least_float(values: torch.Tensor) -> torch.Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float))


def _ensure_no_mask(mask: Optional[torch.Tensor]) -> None:
    if mask is not None:
        raise TypeError("LabelSet takes no mask: every instance has all labels.")
