"""Candidates of the structure of tags, and the spans that their tags encode, as batches of tensors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch.nn import functional as F

from seal.common.setting_checks import require
from seal.constraints.span_starts import SpanStarts, occurrences
from seal.structure.span_features import SpanFeatures, combined_hash, lookup


class TagScheme:
    """
    Finds the spans that tag sequences encode, in batches of tensors.

    # Parameters

    tags : `list[str]`
        The names of the tags by index.
    encoding : `str`, optional
        `"BIO"` or `"BIOES"`: `O`, or `B`, `I`, `E` or `S` with `-<role>`. `None`: every token is a span of its tag.
    """

    def __init__(self, tags: list[str], encoding: str | None) -> None:
        self.encoding = encoding
        #: The names of the roles (or labels of entities), by index.
        self.roles = sorted({tag if encoding is None else tag[2:] for tag in tags if encoding is None or tag != "O"})
        self._starts = SpanStarts(tags, encoding, self.roles)
        #: The role of each tag; -1 for `O`.
        self.role_of = self._starts.name_of

    def spans(self, tags: torch.Tensor, mask: torch.Tensor) -> "Spans":
        """
        # Parameters

        tags : `torch.LongTensor`, `(batch, candidates, tokens)`
        mask : `torch.BoolTensor`, `(batch, tokens)`

        # Returns

        `Spans`
            Read as `seal.common.tag_encodings.tags_to_spans` reads them: an `I-X` that continues nothing begins a span.
        """
        begun = self._starts.of(tags, mask)
        return Spans(begun, lambda: (self.role_of.to(tags.device) >= 0)[tags] & mask.unsqueeze(1), self._starts.none)


class Spans:
    """
    The spans of each candidate from left to right.

    # Parameters

    begun : `torch.LongTensor`, `(batch, candidates, tokens)`
        The role of the span that begins at each token, `filler` where none does.
    inside : `Callable[[], torch.Tensor]`
        Returns whether each token is in a span, `(batch, candidates, tokens)`.
    filler : `int`
        The index of no role: the number of roles.
    """

    def __init__(self, begun: torch.Tensor, inside: Callable[[], torch.Tensor], filler: int) -> None:
        self.filler = filler
        self.inside = inside
        self._starts = begun != filler
        # Spans are numbered from 1. Tokens that begin no span write to the last slot.
        self._number = self._starts.cumsum(dim=-1)
        self._width = max(int(self._number[..., -1].max()), 1) if begun.numel() else 1
        self._slot = torch.where(self._starts, self._number, self._width + 1)
        #: The role of each span, `(batch, candidates, spans + 2)`, with a filler at both ends and where there is none.
        self.marked = self._filled(filler).scatter_(2, self._slot, begun)

    def _filled(self, value: int) -> torch.Tensor:
        shape = (*self._slot.shape[:2], self._width + 2)
        return torch.full(shape, value, device=self._slot.device, dtype=torch.long)

    def _places(self) -> torch.Tensor:
        return torch.arange(self._slot.shape[-1], device=self._slot.device).expand_as(self._slot)

    @cached_property
    def of_tokens(self) -> torch.Tensor:
        """The index in `marked` of each token's span, `(batch, candidates, tokens)`; the last index for no span."""
        return torch.where(self.inside(), self._number, self._width + 1)

    @cached_property
    def roles(self) -> torch.Tensor:
        """The role of each span, -1 for a filler: `(batch, candidates, spans)`."""
        roles = self.marked[..., 1:-1]
        return roles.masked_fill(roles == self.filler, -1)

    @cached_property
    def first(self) -> torch.Tensor:
        """The first token of each span, -1 for a filler: `(batch, candidates, spans)`."""
        return self._filled(-1).scatter_(2, self._slot, self._places())[..., 1:-1]

    @cached_property
    def last(self) -> torch.Tensor:
        """The last token of each span, -1 for a filler: `(batch, candidates, spans)`."""
        return self._filled(-1).scatter_reduce_(2, self.of_tokens, self._places(), reduce="amax")[..., 1:-1]

    def role_counts(self) -> torch.Tensor:
        """The number of spans with each role, `(batch, candidates, roles)`."""
        return occurrences(self.marked, self.filler)

    def of_rows(self, rows: torch.Tensor | slice) -> "SpansOfRows":
        """The spans of these instances."""
        return SpansOfRows(self.roles[rows], self.first[rows], self.last[rows])


class SpansOfRows(NamedTuple):
    """The role, first and last token of each span, -1 for a filler: `(rows, candidates, spans)` each."""

    roles: torch.Tensor
    first: torch.Tensor
    last: torch.Tensor

    def codes(self, tokens: int, num_roles: int) -> torch.Tensor:
        """A code for each span, equal for equal spans; -1 for fillers."""
        code = (self.first * tokens + self.last) * num_roles + self.roles
        return code.masked_fill(self.roles < 0, -1)


class ListedSpans(NamedTuple):
    """
    All spans of all candidates in one list. Each field is `(spans,)`.

    # Parameters

    candidate : the number of the span's candidate; candidates are numbered instance after instance
    role, first, last : its role, first and last token
    place : its index in `Spans.marked`
    """

    candidate: torch.Tensor
    role: torch.Tensor
    first: torch.Tensor
    last: torch.Tensor
    place: torch.Tensor


class DistinctSpans(NamedTuple):
    """
    The distinct spans of each instance: a span that several candidates share is there once.

    # Parameters

    role : `torch.LongTensor`, `(distinct,)`
    seen : `SpanFeatures`
        The features of each distinct span.
    number : `torch.LongTensor`, `(spans,)`
        The index of each span of `ListedSpans` among the distinct ones.
    """

    role: torch.Tensor
    seen: SpanFeatures
    number: torch.Tensor


class ExcludedGold(NamedTuple):
    """
    The gold outputs that the counts of an energy exclude for a batch of training instances: for each instance, the gold
    of all instances with an equal input, itself included.

    # Parameters

    group : `torch.LongTensor`, `(batch,)`
        The number of each instance's group.
    gold : `TagCandidates`
        All training instances of these groups, with gold as the only candidate.
    group_of_gold : `torch.LongTensor`, `(golds,)`
        The number of the group of each instance in `gold`.
    """

    group: torch.Tensor
    gold: "TagCandidates"
    group_of_gold: torch.Tensor

    def counts(self, codes: torch.Tensor, rows: torch.Tensor, asked: torch.Tensor, of_rows: torch.Tensor):
        """
        How often each code of the batch occurs in the gold of its instance's group.

        # Parameters

        codes, rows : `torch.LongTensor`, `(codes,)`
            The codes that occur in `gold`, and the instance of `gold` of each.
        asked : `torch.LongTensor`, `(..., n)`
            Codes of the batch, to be looked up.
        of_rows : `torch.LongTensor`, broadcasts to `asked`
            The instance of the batch of each.

        # Returns

        `torch.FloatTensor`, of the shape of `asked`
        """
        known, counts = combined_hash([codes, self.group_of_gold[rows]], 0).unique(return_counts=True)
        return lookup(known, counts.float(), combined_hash([asked, self.group[of_rows]], 0))


@dataclass
class TagCandidates:
    """
    The candidates of a batch: tag sequences.

    # Parameters

    tags, log_prob, mask, keys, token_log_prob, words, places : as for `seal.structure.TagPaths`
        The tags are long; `token_log_prob` is 0 at padding.
    scheme : `TagScheme`
    gold : `torch.LongTensor`, `(batch,)`, optional
        The index of the gold sequence, -1 where it is not a candidate.
    excluded : `ExcludedGold`, optional
        For training data: the gold that the counts of an energy exclude.
    """

    tags: torch.Tensor
    log_prob: torch.Tensor
    mask: torch.Tensor
    scheme: TagScheme
    gold: torch.Tensor | None = None
    keys: list[str] = field(default_factory=list)
    excluded: ExcludedGold | None = None
    token_log_prob: torch.Tensor | None = None
    words: list[list[str]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: The spans that the candidates' tags encode.
        self.spans = self.scheme.spans(self.tags, self.mask)
        #: How often each role occurs, `(batch, candidates, roles)`.
        self.role_counts = self.spans.role_counts()

    @cached_property
    def listed_spans(self) -> "ListedSpans":
        """All spans of all candidates in one list."""
        batch, candidates, _ = self.spans.roles.shape
        row, candidate, place = (self.spans.roles >= 0).nonzero(as_tuple=True)
        role, first, last = (
            part[row, candidate, place] for part in (self.spans.roles, self.spans.first, self.spans.last)
        )
        return ListedSpans(row * candidates + candidate, role, first, last, place + 1)

    @cached_property
    def distinct_spans(self) -> DistinctSpans:
        """The distinct spans of each instance. Needs `words`."""
        spans, tokens, roles = self.listed_spans, self.mask.shape[1], len(self.scheme.roles)
        row = spans.candidate // self.log_prob.shape[1]
        code = ((row * tokens + spans.first) * tokens + spans.last) * roles + spans.role
        # Candidates have most of their spans in common.
        code, number = code.unique(return_inverse=True)
        place, role = code // roles, code % roles
        row, first, last = place // tokens**2, place // tokens % tokens, place % tokens
        return DistinctSpans(role, SpanFeatures(row, first, last, self.words, tokens, self.places, self.keys), number)

    def of_rows(self, rows: torch.Tensor) -> "TagCandidates":
        """The instances with these indices, padded to the longest of them."""
        mask, places = self.mask[rows], rows.tolist()
        tokens = max(int(mask.sum(dim=1).amax()), 1) if len(mask) else 1
        scores = self.token_log_prob
        return TagCandidates(
            self.tags[rows, :, :tokens],
            self.log_prob[rows],
            mask[:, :tokens],
            self.scheme,
            None if self.gold is None else self.gold[rows],
            [self.keys[place] for place in places] if self.keys else [],
            token_log_prob=None if scores is None else scores[rows, :, :tokens],
            words=[self.words[place] for place in places] if self.words else [],
            places=[self.places[place] for place in places] if self.places else [],
        )

    def outputs_and_mask(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The tags and the mask of tokens, for constraints."""
        return self.tags, self.mask

    def parts(self) -> list["TagCandidates"]:
        return [self]

    def with_gold(self) -> "TagCandidates":
        """All instances: the gold of nearly all is a candidate."""
        return self

    def of_gold(self, values: torch.Tensor) -> torch.Tensor:
        """The entries of `values (batch, candidates, ...)` for gold, where it is a candidate: `(instances, ...)`."""
        gold = require(self.gold, "gold")
        rows = (gold >= 0).nonzero().squeeze(1)
        return values[rows, gold[rows]]


def find_gold(tags: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The index of `gold (batch, tokens)` among `tags (batch, candidates, tokens)`, -1 if it is not one: `(batch,)`."""
    equal = ((tags == gold.unsqueeze(1)) | ~mask.unsqueeze(1)).all(dim=-1)
    return torch.where(equal.any(dim=1), equal.long().argmax(dim=1), -1)


def joined(parts: Sequence[TagCandidates]) -> TagCandidates:
    """Joins batches into one, padded to the longest."""
    tokens = max(part.mask.shape[1] for part in parts)
    candidates = max(part.tags.shape[1] for part in parts)

    def padded(tensor: torch.Tensor, width: int, value: Any = 0) -> torch.Tensor:
        return F.pad(tensor, (0, width - tensor.shape[-1]), value=value)

    tags = [F.pad(part.tags, (0, tokens - part.tags.shape[2], 0, candidates - part.tags.shape[1])) for part in parts]
    return TagCandidates(
        torch.cat(tags),
        torch.cat([padded(part.log_prob, candidates, -torch.inf) for part in parts]),
        torch.cat([padded(part.mask, tokens, False) for part in parts]),
        parts[0].scheme,
        torch.cat([require(part.gold, "gold") for part in parts]),
        [key for part in parts for key in part.keys],
        words=[words for part in parts for words in part.words],
        places=[place for part in parts for place in part.places],
    )
