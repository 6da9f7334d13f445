from collections.abc import Sequence

import torch
from torch import nn

from seal.common.setting_checks import check_range
from seal.registry import ConfigurationError
from seal.structure.joint_score import CandidateEnergy, Features, LinearEnergy
from seal.structure.span_features import WORDS, SpanFeatures, looked_up, mixed
from seal.structure.tag_sequences import TagCandidates

CONTEXTS_OF_ROLES = (("key", "side", "first"), ("last",), ("first", "last"), ("side", "first"))
CONTEXTS_OF_ENTITIES = (("string",), ("last",), ("first", "last"), ("before",))
#: Of tags of single words, such as parts of speech.
CONTEXTS_OF_WORDS = (("string",), ("before",), ("after",), ("before", "first"), ("first", "after"))
_NUMBERS = ("side", "distance", "length", "key", "string")
# Strings of more words are counted where they are spans, and not in all texts.
_LONGEST = 8
# Spreads the roles over the codes; any odd number does.
_OF_ROLE = 0x14057B7EF767814F


@CandidateEnergy.register("span_counts")
class SpanCounts(LinearEnergy[TagCandidates]):
    """
    Which role (or type of entity) spans like this one have in training data. `n_c` spans there have the same context as
    a span, such as its last word or its predicate, side and first word, and `n_cr` of them its role `r`, whose share of
    all spans is `p_r`:

    `E(x, y) = -sum_spans sum_contexts (w_context + w_{context, r}) log [(n_cr + a p_r) / (n_c + a) / p_r]`.

    The gold of training instances with an equal input is left out of the counts. Of the context `string` alone `n_c` is
    the number of times that the span's words occur in the training texts, in a span or not: an entity is known by its
    name. Strings of more than eight words are counted where they are spans. Where the words are not given, the energy
    is 0.

    # Parameters

    num_roles : `int`
    contexts : `Sequence[Sequence[str]]`, optional
        Each of some of `first`, `last`, `before`, `after` (words of a span and beside it), `string` (all of its words),
        `length`, `key` (the predicate's lemma), `side` and `distance` (of the predicate), `predicate_before` and
        `predicate_after`. By default those of roles: `[[key, side, first], [last], [first, last], [side, first]]`.
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
        # Of all roles first.
        self.weight = nn.Parameter(torch.zeros(len(self._contexts), num_roles + 1))
        self.register_buffer("share", torch.full((num_roles,), 1 / num_roles))
        # Ascending; those of contexts and those of contexts with a role are told apart by chance.
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
        """The code of each thing in gold that counts, once for each time that it occurs, and its instance."""
        role, seen, _ = gold.distinct_spans
        found = []
        for context, codes in zip(self._contexts, self._codes(seen)):
            found.append((codes + (role + 1) * _OF_ROLE, seen.row))
            if context != ("string",):
                found.append((codes, seen.row))
                continue
            longest = _LONGEST if gold.scheme.encoding else 1
            long = seen.last - seen.first >= longest
            found += [seen.strings(longest), (codes[long], seen.row[long])]
        codes, rows = map(torch.cat, zip(*found))
        return codes, rows

    def _codes(self, seen: SpanFeatures) -> list[torch.Tensor]:
        """Of each context the code of each span."""
        found = []
        for number, context in enumerate(self._contexts):
            parts = [getattr(seen, name) if name in _NUMBERS else seen.word(name) for name in context]
            found.append(parts[0] if context == ("string",) else mixed(parts, number))
        return found

    def _values(self, candidates: TagCandidates) -> torch.Tensor:
        """The logarithms, `(distinct, contexts)`."""
        role, seen, _ = candidates.distinct_spans
        of_contexts = torch.stack(self._codes(seen))
        of_both = torch.stack([of_contexts, of_contexts + (role + 1) * _OF_ROLE])
        counts = looked_up(self.codes, self.counts, of_both)
        if candidates.own is not None:
            counts = counts - candidates.own.counts(*self._counted(candidates.own.gold), of_both, seen.row)
        # shape: (distinct, contexts)
        n, n_r = counts.clamp(min=0).transpose(1, 2)
        share = self.share[role].unsqueeze(1)
        return ((n_r + self._shrinkage * share) / (n + self._shrinkage) / share).log()

    def features(self, candidates: TagCandidates) -> list[Features]:
        if not candidates.words:
            return []
        (role, _, number), (contexts, width) = candidates.distinct_spans, self.weight.shape
        of_all = (torch.arange(contexts, device=role.device) * width).expand(len(role), -1)
        place = torch.cat([of_all, of_all + role.unsqueeze(1) + 1], dim=1)
        return [Features(place, -self._values(candidates).repeat(1, 2), candidates.listed_spans.candidate, number)]
