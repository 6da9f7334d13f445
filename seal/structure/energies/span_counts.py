from collections.abc import Sequence

import torch
from torch import nn

from seal.common.setting_checks import check_range, needed
from seal.registry import ConfigurationError
from seal.structure.joint_score import NO_ENTRIES, CandidateEnergy, LinearEnergy
from seal.structure.span_features import WORDS, SpanFeatures, looked_up, mixed
from seal.structure.tag_sequences import CompetingTags

CONTEXTS_OF_ROLES = (("key", "side", "first"), ("last",), ("first", "last"), ("side", "first"))
CONTEXTS_OF_ENTITIES = (("string",), ("last",), ("first", "last"), ("before",))
#: Of tags of single words, such as parts of speech.
CONTEXTS_OF_WORDS = (("string",), ("before",), ("after",), ("before", "first"), ("first", "after"))
_NUMBERS = ("side", "distance", "length", "key", "string")
# Strings of more words are not counted in texts.
_LONGEST = 8
# Spreads the roles over the codes; any odd number does.
_OF_ROLE = 0x14057B7EF767814F


@CandidateEnergy.register("span_counts")
class SpanCounts(LinearEnergy[CompetingTags]):
    """
    Which role (or type of entity) spans like this one have in training data. `n_c` spans there have the same context as
    a span, such as its last word or its predicate, side and first word, and `n_cr` of them its role `r`, whose share of
    all spans is `p_r`:

    `E(x, y) = -sum_spans sum_contexts (w_context + w_{context, r}) log [(n_cr + a p_r) / (n_c + a) / p_r]`.

    An instance's own gold is left out of the counts. Of the context `string` alone `n_c` is the number of times that
    the span's words occur in training data, in a span or not: an entity is known by its name. Where the words are not
    given, the energy is 0.

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

    def prepare(self, gold: CompetingTags) -> None:
        if not gold.words:
            return
        role, seen, _ = gold.distinct_spans
        counts = torch.bincount(role, minlength=len(self.share)) + 0.5
        self.share = (counts / counts.sum()).to(self.share)
        found = []
        for context, codes in zip(self._contexts, self._codes(seen)):
            found += [codes + (role + 1) * _OF_ROLE]
            found += [codes] if context != ("string",) else _occurrences(seen, codes)
        codes, counts = torch.cat(found).unique(return_counts=True)
        self.codes, self.counts = codes, counts.to(self.counts)

    def _codes(self, seen: SpanFeatures) -> list[torch.Tensor]:
        """Of each context the code of each span."""
        found = []
        for number, context in enumerate(self._contexts):
            parts = [getattr(seen, name) if name in _NUMBERS else seen.word(name) for name in context]
            found.append(parts[0] if context == ("string",) else mixed(parts, number))
        return found

    def _values(self, competing: CompetingTags) -> torch.Tensor:
        """The logarithms, `(distinct, contexts)`."""
        role, seen, number = competing.distinct_spans
        share, values = self.share[role], []
        of_gold = None
        if competing.own:
            candidates = competing.log_prob.shape[1]
            mine = competing.listed_spans.candidate % candidates == needed(competing.gold, "gold")[seen.row[number]]
            of_gold = torch.zeros_like(role, dtype=torch.bool).index_fill(0, number[mine], True)
        of_contexts = torch.stack(self._codes(seen))
        of_both = torch.stack([of_contexts, of_contexts + (role + 1) * _OF_ROLE], dim=1)
        counted = looked_up(self.codes, self.counts, of_both)
        for context, (codes, with_role), (n, n_r) in zip(self._contexts, of_both, counted):
            if of_gold is not None:
                n_r = n_r - _counted_of_gold(with_role, seen.row, of_gold)
                n = n - (
                    _own_occurrences(seen) if context == ("string",) else _counted_of_gold(codes, seen.row, of_gold)
                )
            values.append(torch.stack([n, n_r]))
        n, n_r = torch.stack(values, dim=2).clamp(min=0)
        share = share.unsqueeze(1)
        return ((n_r + self._shrinkage * share) / (n + self._shrinkage) / share).log()

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        if not competing.words:
            return self.weight.new_zeros(1, 1)
        weight = self.weight[:, :1] + self.weight[:, 1:]
        role, _, number = competing.distinct_spans
        return competing.summed(-(weight.t()[role] * self._values(competing)).sum(dim=1)[number])

    def entries(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if not competing.words:
            return NO_ENTRIES
        spans, values = competing.listed_spans, self._values(competing)[competing.distinct_spans.number]
        contexts, width = self.weight.shape
        of_all = (torch.arange(contexts, device=values.device) * width).expand(len(values), -1)
        column = torch.cat([of_all, of_all + spans.role.unsqueeze(1) + 1], dim=1)
        return spans.candidate.repeat_interleave(2 * contexts), column.flatten(), -values.repeat(1, 2).flatten()


def _counted_of_gold(codes: torch.Tensor, row: torch.Tensor, of_gold: torch.Tensor) -> torch.Tensor:
    """How many spans of the instance's gold have the same code."""
    in_row = mixed([codes, row], 0)
    known, counts = in_row[of_gold].unique(return_counts=True)
    return looked_up(known, counts.float(), in_row)


def _occurrences(seen: SpanFeatures, codes: torch.Tensor) -> list[torch.Tensor]:
    """The codes of all strings in the instances' texts that are among some `codes`, as often as they occur."""
    strings = [seen.strings(length).flatten() for length in range(1, min(_LONGEST, seen.codes.shape[1] - 2) + 1)]
    return [found[torch.isin(found, codes)] for found in strings]


def _own_occurrences(seen: SpanFeatures) -> torch.Tensor:
    """How often a span's words occur in its instance's text."""
    number = torch.zeros(seen.string.shape, device=seen.row.device)
    lengths = seen.last - seen.first + 1
    for length in lengths.unique().tolist():
        if length <= _LONGEST:
            at = lengths == length
            number[at] = (seen.strings(length)[seen.row[at]] == seen.string[at].unsqueeze(1)).sum(dim=1).float()
    return number
