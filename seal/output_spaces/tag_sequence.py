"""The output space of tag sequences with independent tags, whose decoding may be constrained to legal sequences."""

from typing import Any, Optional

import torch
from torch.nn import functional as F

from seal.common.precision import at_least_float
from seal.common.setting_checks import check_choice
from seal.common.tag_encodings import learned_encoding
from seal.common.tag_notation import notation_of
from seal.common.vocabularies import Vocabulary, labels_of
from seal.output_spaces.best_paths import k_best_paths, viterbi
from seal.output_spaces.output_space import (
    OutputSpace,
    check_floating,
    check_indices,
    check_relaxed,
    check_shape,
    dot,
    merge_equal,
)
from seal.output_spaces.tag_transitions import DECODED, tag_transitions
from seal.registry import ConfigurationError


@OutputSpace.register("tag_sequence")
class TagSequence(OutputSpace):
    """
    One tag for each token, `P(y | x) = prod_t Categorical(y_t; softmax(logits_t))`.

    `logits` is `(batch, tokens, tags)`. A relaxed output is a point of the simplex for each token,
    `(batch, samples, tokens, tags)`, floating; a discrete output is a tag index for each token,
    `(batch, samples, tokens)`, integer. Every method takes both and tells them apart by their type. As indices, 400
    draws of 30 tokens over 120 tags are 12,000 integers an instance in place of 1.4 million floats.

    # Parameters

    vocab : `Vocabulary` or `list[str]`
        With the tags, or a list of them.
    namespace : `str`, optional (default = `"tags"`)
        The vocabulary's namespace of the tags.
    encoding : `str`, optional (default = `"BIO"`)
        `"BIO"` or `"BIOES"`: decoding returns the most probable sequence that is legal in this encoding; in BIO each
        `I-X` must continue a `B-X` or an `I-X`. `None`: the most probable tag of each token. `"auto"`: the encoding in
        which the tagging reader has read the training data, which it stores in the vocabulary; `None` where the tags
        encode no spans.
    constrained : `bool`, optional (default = `True`)
        If `False`, decoding returns the most probable tag of each token, legal or not. The tags still encode spans,
        which are read as `conlleval` reads them.

    # Raises

    `ConfigurationError` if the namespace holds no tags, or the encoding is unknown or does not fit the tags.
    """

    l1_per_error = 2.0
    #: 0 for legal and `-inf` for illegal pairs of tags, first tags and last tags; or `None`.
    _transitions: Optional[torch.Tensor]
    _starts: Optional[torch.Tensor]
    _ends: Optional[torch.Tensor]
    _no_pairs: torch.Tensor

    def __init__(
        self,
        vocab: Vocabulary,
        namespace: str = "tags",
        encoding: Optional[str] = "BIO",
        constrained: bool = True,
    ) -> None:
        super().__init__()
        self.namespace = namespace
        self.labels = labels_of(vocab, namespace)
        self.num_labels = len(self.labels)
        if self.num_labels == 0:
            raise ConfigurationError(
                f"output_space.namespace: the vocabulary has no tags in '{namespace}'; name the namespace the "
                "dataset reader gives its tags."
            )
        check_choice("output_space.encoding", encoding, (*DECODED, "auto", None))
        if encoding == "auto":
            encoding = None
            if notation_of(vocab) is not None:
                encoding = learned_encoding(self.labels)
        transitions = starts = ends = None
        if encoding in DECODED:
            legal = tag_transitions(self.labels, encoding)
            if constrained:
                transitions, starts, ends = map(penalty, legal)
        self.encoding = encoding
        # Not saved: they follow from the vocabulary.
        self.register_buffer("_transitions", transitions, persistent=False)
        self.register_buffer("_starts", starts, persistent=False)
        self.register_buffer("_ends", ends, persistent=False)
        self.register_buffer("_no_pairs", torch.zeros(self.num_labels, self.num_labels), persistent=False)

    def relax(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        probabilities = at_least_float(logits).softmax(dim=-1)
        if mask is not None:
            probabilities = probabilities * mask.unsqueeze(-1)
        return probabilities.unsqueeze(1)

    def straight_through(self, relaxed: torch.Tensor) -> torch.Tensor:
        nearest = self.one_hot(relaxed.argmax(dim=-1)).to(relaxed)
        # Rows of padding are 0 and stay so.
        nearest = nearest * relaxed.any(dim=-1, keepdim=True)
        return nearest + (relaxed - relaxed.detach())

    @torch.no_grad()
    def sample(self, logits: torch.Tensor, num_samples: int, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        batch, tokens, tags = logits.shape
        probabilities = at_least_float(logits).softmax(dim=-1).view(batch * tokens, tags)
        # shape: (batch, tokens, samples)
        drawn = torch.multinomial(probabilities, num_samples, replacement=True).view(batch, tokens, -1)
        if mask is not None:
            drawn = drawn * mask.unsqueeze(-1)
        return drawn.transpose(1, 2)

    def check_outputs(self, outputs: Any, logits: torch.Tensor) -> None:
        batch, *structure = logits.shape
        check_shape(outputs, batch, [structure[:-1], structure])
        if outputs.dim() == 3:
            check_indices(outputs, structure[-1])
        else:
            check_floating(outputs, logits)
            check_relaxed(outputs)

    def relaxed_sample(
        self,
        logits: torch.Tensor,
        num_samples: int,
        mask: Optional[torch.Tensor] = None,
        temperature: float = 0.5,
    ) -> torch.Tensor:
        logits = at_least_float(logits)
        shape = (logits.shape[0], num_samples, *logits.shape[1:])
        noise = -torch.empty(shape, dtype=logits.dtype, device=logits.device).exponential_().log()
        draws = ((logits.unsqueeze(1) + noise) / temperature).softmax(dim=-1)
        return draws if mask is None else draws * mask[:, None, :, None]

    def log_prob(
        self, logits: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        return self.inner(at_least_float(logits).log_softmax(dim=-1), outputs, mask)

    def inner(self, scores: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        if outputs.is_floating_point():
            if mask is not None:
                scores = scores * mask.unsqueeze(-1)
            return dot(outputs, scores)
        # With the samples last, the backward pass of `gather` fills (batch, tokens, tags) once for all samples.
        # shape: (batch, tokens, samples)
        chosen = scores.gather(2, outputs.transpose(1, 2))
        if mask is not None:
            chosen = chosen * mask.unsqueeze(-1)
        return chosen.sum(dim=1)

    def overlap(
        self, outputs: torch.Tensor, gold: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if mask is None:
            mask = torch.ones_like(gold, dtype=torch.bool)
        if outputs.is_floating_point():
            intersection = self.inner(self.one_hot(gold).to(outputs), outputs, mask)
        else:
            intersection = ((outputs == gold.unsqueeze(1)) & mask.unsqueeze(1)).sum(dim=-1).float()
        # A row of gold and a row of the output each sum to 1: min and max sum to 2 a token.
        return intersection, 2 * mask.sum(dim=1, keepdim=True) - intersection

    def decode(self, logits: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        if self._transitions is None:
            return logits.argmax(dim=-1)
        return viterbi(self._scores_of_tags(logits), *self._scores_of_pairs(), mask)

    @torch.no_grad()
    def is_legal(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        if self._transitions is None or self._starts is None or self._ends is None:
            return super().is_legal(outputs, mask)
        if mask is None:
            mask = torch.ones_like(outputs[:, 0], dtype=torch.bool)
        # shape: (batch, samples, tokens - 1): 0 or -inf
        pairs = self._transitions[outputs[..., :-1], outputs[..., 1:]].masked_fill(~mask[:, None, 1:], 0.0)
        last = (mask.sum(dim=1) - 1).view(-1, 1, 1).expand(*outputs.shape[:2], 1)
        ends = self._starts[outputs[..., 0]] + self._ends[outputs.gather(2, last).squeeze(2)]
        return (pairs.sum(dim=-1) + ends).isfinite()

    @torch.no_grad()
    def k_best(
        self, logits: torch.Tensor, k: int, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """
        The `k` most probable sequences, legal ones where decoding is constrained: `(batch, k, tokens)`, the best first,
        and `log P(y | x)` of each, `(batch, k)`, which is `-inf` for a filler.
        """
        paths, values = self._best_paths(logits, k, mask)
        return paths, self._log_prob_of_paths(logits, paths, values, mask)

    def _best_paths(self, logits, k, mask) -> tuple[torch.Tensor, torch.Tensor]:
        transitions, starts, ends = self._scores_of_pairs()
        return k_best_paths(self._scores_of_tags(logits), transitions, k, starts, ends, mask)

    @torch.no_grad()
    def k_best_and_marginals(
        self, logits: torch.Tensor, k: int, mask: Optional[torch.Tensor] = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The results of `k_best`, and `log_marginals_of` its sequences, in less time than the two calls."""
        paths, log_prob = self.k_best(logits, k, mask)
        return paths, log_prob, self.log_marginals_of(logits, paths, mask)

    @torch.no_grad()
    def log_marginals_of(
        self, logits: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """
        `log P(y_t | x)`, in nats, of each tag of `outputs (batch, samples, tokens)`; of the same shape, 0 at padding.
        Probabilities below 1e-6 are raised to it.
        """
        return log_of_tags(self.relax(logits, mask).squeeze(1), outputs, mask)

    def _scores_of_tags(self, logits: torch.Tensor) -> torch.Tensor:
        return at_least_float(logits).log_softmax(dim=-1)

    def _scores_of_pairs(self) -> tuple[torch.Tensor, Optional[torch.Tensor], Optional[torch.Tensor]]:
        """The scores of pairs of tags, `(tags, tags)`, of first tags and of last tags, `(tags,)` or `None`."""
        if self._transitions is not None:
            return self._transitions, self._starts, self._ends
        return self._no_pairs, None, None

    def _log_prob_of_paths(
        self, logits: torch.Tensor, paths: torch.Tensor, values: torch.Tensor, mask: Optional[torch.Tensor]
    ) -> torch.Tensor:
        """`log P(y | x)` of the best paths with the scores `values`, which are log-probabilities in this class."""
        return values

    def stack(self, *outputs: torch.Tensor) -> torch.Tensor:
        relaxed = [candidates for candidates in outputs if candidates.is_floating_point()]
        if relaxed and len(relaxed) < len(outputs):
            outputs = tuple(
                candidates if candidates.is_floating_point() else self.one_hot(candidates).to(relaxed[0])
                for candidates in outputs
            )
        return super().stack(*outputs)

    @torch.no_grad()
    def distinct(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> tuple[torch.Tensor, torch.Tensor]:
        if outputs.is_floating_point():
            raise TypeError("TagSequence.distinct merges discrete outputs; these are relaxed.")
        if mask is not None:
            outputs = outputs * mask.unsqueeze(1)
        chosen, log_count = merge_equal(outputs)
        return outputs.flatten(0, 1)[chosen], log_count

    def project(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        The nearest point of the simplex, in Euclidean distance, for each token (Duchi et al. 2008, figure 1):
        `max(v - theta, 0)` with the one `theta` for which it sums to 1. Padding is 0.
        """
        outputs = self._as_relaxed(outputs)
        # This shift does not change the projection. Without it, large values would absorb the 1 below.
        outputs = outputs - outputs.amax(dim=-1, keepdim=True)
        ordered = outputs.sort(dim=-1, descending=True).values
        # The `theta` for which the first 1, 2, ... entries stay above 0.
        ranks = torch.arange(1, self.num_labels + 1, device=outputs.device, dtype=outputs.dtype)
        thetas = (ordered.cumsum(dim=-1) - 1) / ranks
        # The entries that stay above 0 come first, and the first one always does, unless it is NaN.
        above = (ordered > thetas).sum(dim=-1, keepdim=True).clamp(min=1)
        projected = (outputs - thetas.gather(-1, above - 1)).clamp(min=0)
        return projected if mask is None else projected * mask[:, None, :, None]

    def to_logits(self, relaxed: torch.Tensor) -> torch.Tensor:
        # With this lower bound the softmax has a slope at a tag of probability 0.
        return self._as_relaxed(relaxed).clamp(min=1e-3).log()

    def _as_relaxed(self, outputs: torch.Tensor) -> torch.Tensor:
        """Discrete outputs, whose indices may be floating, as one-hot rows; relaxed outputs unchanged."""
        if outputs.dim() == 4:
            return outputs
        dtype = outputs.dtype if outputs.is_floating_point() else torch.get_default_dtype()
        return self.one_hot(outputs.long()).to(dtype)

    def one_hot(self, tags: torch.Tensor) -> torch.Tensor:
        """`(..., tokens)` tag indices to `(..., tokens, tags)`."""
        return F.one_hot(tags, self.num_labels)


def log_of_tags(marginals: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
    """`TagSequence.log_marginals_of`, given `marginals (batch, tokens, tags)`."""
    chosen = marginals.gather(2, outputs.transpose(1, 2)).transpose(1, 2).clamp(min=1e-6).log()
    return chosen if mask is None else chosen * mask.unsqueeze(1)


def penalty(allowed: torch.Tensor) -> torch.Tensor:
    """0 where allowed, else `-inf`; added to the scores of a path, it rules the path out."""
    return torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)
