"""An energy of how often spans in the same context have a role in the training data."""

from collections.abc import Sequence

import torch
from torch import nn

from seal.common.setting_checks import check_range
from seal.registry import ConfigurationError
from seal.structure.joint_score import CandidateEnergy, Features, LinearEnergy
from seal.structure.span_features import WORDS, SpanFeatures, combined_hash, lookup
from seal.structure.tag_sequences import TagCandidates

CONTEXTS_OF_ROLES = (("key", "side", "first"), ("last",), ("first", "last"), ("side", "first"))
CONTEXTS_OF_ENTITIES = (("string",), ("last",), ("first", "last"), ("before",))
#: For tags of single words, such as parts of speech.
CONTEXTS_OF_WORDS = (("string",), ("before",), ("after",), ("before", "first"), ("first", "after"))
_NUMBERS = ("side", "distance", "length", "key", "string")
# Longer strings are counted only where they are spans.
_LONGEST = 8
# A role is added to a code as a multiple of this odd number, so that the codes of different roles differ.
_ROLE_FACTOR = 0x14057B7EF767814F


@CandidateEnergy.register("span_counts")
class SpanCounts(LinearEnergy[TagCandidates]):
    """
    Scores the role (or type of entity) of each span by the training spans in the same context:

    `E(x, y) = -sum_spans sum_contexts (w_context + w_{context, r}) log [(n_cr + a p_r) / (n_c + a) / p_r]`.

    A context is a combination of features, such as the last word, or the predicate, side and first word. `n_c` is the
    number of training spans with the same context as the span, `n_cr` the number of these with the span's role `r`, and
    `p_r` the share of `r` among all training spans. The counts leave out an instance's group of equal inputs.

    For the context `string`, the words of the span, `n_c` is the number of times that the words occur in the training
    texts, in a span or not; strings of more than eight words are counted only where they are spans. Without words the
    energy is 0.

    # Parameters

    num_roles : `int`
    contexts : `Sequence[Sequence[str]]`, optional
        The contexts, each a list of features: `first`, `last`, `before`, `after` (words of a span and beside it),
        `string` (all of its words), `length`, `key` (the predicate's lemma), `side` and `distance` (to the predicate),
        `predicate_before` and `predicate_after`. The default is for roles: `[[key, side, first], [last], [first, last],
        [side, first]]`.
    shrinkage : `float`, optional (default = `2.0`)
        `a`, above 0.

    # Raises

    `ConfigurationError` if a context is not known, or the shrinkage is not above 0.
    """

    share: torch.Tensor
    codes: torch.Tensor
    counts: torch.Tensor

    def __init__(
        self, num_roles: int, contexts: Sequence[Sequence[str]] = CONTEXTS_OF_ROLES, shrinkage: float = 2.0
    ) -> None:
        super().__init__()
        check_range("structure.energies: the shrinkage of 'span_counts'", shrinkage, above=0)
        for name in (name for context in contexts for name in context):
            if name not in (*_NUMBERS, *WORDS):
                known = ", ".join((*_NUMBERS, *WORDS))
                raise ConfigurationError(f"structure.energies: 'span_counts' has no context '{name}'; it has {known}.")
        self._contexts = [tuple(context) for context in contexts]
        self._shrinkage = shrinkage
        # The first column, `w_context`, is for all roles.
        self.weight = nn.Parameter(torch.zeros(len(self._contexts), num_roles + 1))
        self.register_buffer("share", torch.full((num_roles,), 1 / num_roles))
        # Ascending hashes of contexts, and of contexts with a role; that two are equal is improbable.
        self.register_buffer("codes", torch.zeros(0, dtype=torch.long))
        self.register_buffer("counts", torch.zeros(0))

    def prepare(self, gold: TagCandidates) -> None:
        if not gold.words:
            return
        role, seen, _ = gold.distinct_spans
        counts = torch.bincount(role, minlength=len(self.share)) + 0.5
        self.share = (counts / counts.sum()).to(self.share)
        codes, counts = self._counted(gold)[0].unique(return_counts=True)
        self.codes, self.counts = codes, counts.to(self.counts)

    def _counted(self, gold: TagCandidates) -> tuple[torch.Tensor, torch.Tensor]:
        """The code of each occurrence of a context, with and without its role, in gold, and its instance."""
        role, seen, _ = gold.distinct_spans
        occurrences = []
        for context, codes in zip(self._contexts, self._codes(seen)):
            occurrences.append((codes + (role + 1) * _ROLE_FACTOR, seen.row))
            if context != ("string",):
                occurrences.append((codes, seen.row))
                continue
            longest = _LONGEST if gold.scheme.encoding else 1
            long = seen.last - seen.first >= longest
            occurrences += [seen.strings(longest), (codes[long], seen.row[long])]
        codes, rows = map(torch.cat, zip(*occurrences))
        return codes, rows

    def _codes(self, seen: SpanFeatures) -> list[torch.Tensor]:
        """For each context the code of each span, `(spans,)`."""
        context_codes = []
        for number, context in enumerate(self._contexts):
            parts = [getattr(seen, name) if name in _NUMBERS else seen.word(name) for name in context]
            context_codes.append(parts[0] if context == ("string",) else combined_hash(parts, number))
        return context_codes

    def _values(self, candidates: TagCandidates) -> torch.Tensor:
        """The logarithm for each distinct span and context, `(distinct, contexts)`."""
        role, seen, _ = candidates.distinct_spans
        context_codes = torch.stack(self._codes(seen))
        # shape: (2, contexts, distinct), without and with the role
        codes = torch.stack([context_codes, context_codes + (role + 1) * _ROLE_FACTOR])
        counts = lookup(self.codes, self.counts, codes)
        if candidates.excluded is not None:
            counts = counts - candidates.excluded.counts(*self._counted(candidates.excluded.gold), codes, seen.row)
        # shape: (distinct, contexts)
        n, n_r = counts.clamp(min=0).transpose(1, 2)
        share = self.share[role].unsqueeze(1)
        return ((n_r + self._shrinkage * share) / (n + self._shrinkage) / share).log()

    def features(self, candidates: TagCandidates) -> list[Features]:
        if not candidates.words:
            return []
        (role, _, number), (contexts, width) = candidates.distinct_spans, self.weight.shape
        first_column = (torch.arange(contexts, device=role.device) * width).expand(len(role), -1)
        place = torch.cat([first_column, first_column + role.unsqueeze(1) + 1], dim=1)
        return [Features(place, -self._values(candidates).repeat(1, 2), candidates.listed_spans.candidate, number)]
