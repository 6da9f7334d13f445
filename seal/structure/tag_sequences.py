from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch

from seal.common.setting_checks import require
from seal.constraints.span_starts import SpanStarts, occurrences
from seal.structure.span_features import SpanFeatures, looked_up, mixed


class TagScheme:
    """
    Which spans tags encode, for batches of tensors.

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
    The spans of candidates from left to right.

    # Parameters

    begun : `torch.LongTensor`, `(batch, candidates, tokens)`
        The role of the span that begins at each token, `filler` where none does.
    inside : `Callable[[], torch.Tensor]`
        Whether each token is in a span.
    filler : `int`
        The number of roles.
    """

    def __init__(self, begun: torch.Tensor, inside: Callable[[], torch.Tensor], filler: int) -> None:
        self.filler = filler
        #: Whether each token is in a span, `(batch, candidates, tokens)`.
        self.inside = inside
        self._starts = begun != filler
        # From 1; a token that begins no span is put at the end.
        self._number = self._starts.cumsum(dim=-1)
        self._width = max(int(self._number[..., -1].max()), 1) if begun.numel() else 1
        self._slot = torch.where(self._starts, self._number, self._width + 1)
        #: `(batch, candidates, spans + 2)`: the role of each, between fillers, and fillers where there is no span.
        self.marked = self._filled(filler).scatter_(2, self._slot, begun)

    def _filled(self, value: int) -> torch.Tensor:
        shape = (*self._slot.shape[:2], self._width + 2)
        return torch.full(shape, value, device=self._slot.device, dtype=torch.long)

    def _places(self) -> torch.Tensor:
        return torch.arange(self._slot.shape[-1], device=self._slot.device).expand_as(self._slot)

    @cached_property
    def of_tokens(self) -> torch.Tensor:
        """For each token the place of its span among `marked`, `(batch, candidates, tokens)`; the last one of none."""
        return torch.where(self.inside(), self._number, self._width + 1)

    @cached_property
    def roles(self) -> torch.Tensor:
        """`(batch, candidates, spans)`, as the next two: the role of each, -1 of a filler."""
        roles = self.marked[..., 1:-1]
        return roles.masked_fill(roles == self.filler, -1)

    @cached_property
    def first(self) -> torch.Tensor:
        """Its first token, -1 of a filler."""
        return self._filled(-1).scatter_(2, self._slot, self._places())[..., 1:-1]

    @cached_property
    def last(self) -> torch.Tensor:
        """Its last token, -1 of a filler."""
        return self._filled(-1).scatter_reduce_(2, self.of_tokens, self._places(), reduce="amax")[..., 1:-1]

    def role_counts(self) -> torch.Tensor:
        """How often each role occurs, `(batch, candidates, roles)`."""
        return occurrences(self.marked, self.filler)

    def of_rows(self, rows: torch.Tensor | slice) -> "SpansOfRows":
        """Those of some instances."""
        return SpansOfRows(self.roles[rows], self.first[rows], self.last[rows])


class SpansOfRows(NamedTuple):
    """Role, first and last token of each span, -1 of a filler: `(rows, candidates, spans)`."""

    roles: torch.Tensor
    first: torch.Tensor
    last: torch.Tensor

    def codes(self, tokens: int, num_roles: int) -> torch.Tensor:
        """A number for each span, equal for equal spans; -1 for fillers."""
        code = (self.first * tokens + self.last) * num_roles + self.roles
        return code.masked_fill(self.roles < 0, -1)


class ListedSpans(NamedTuple):
    """
    Spans, each `(spans,)`: the number of the candidate, instance after instance; role, first and last token; and the
    place among `Spans.marked`.
    """

    candidate: torch.Tensor
    role: torch.Tensor
    first: torch.Tensor
    last: torch.Tensor
    place: torch.Tensor


class DistinctSpans(NamedTuple):
    """
    Spans that differ: those of several candidates of an instance are one. `role`, `(distinct,)`, what is `seen` of each
    in its sentence, and `number`, `(spans,)`: which of them each listed span is.
    """

    role: torch.Tensor
    seen: SpanFeatures
    number: torch.Tensor


class OwnGold(NamedTuple):
    """
    The gold that counts of training data leave out for a batch of training instances: that of each instance itself, and
    of all others with an equal input.

    # Parameters

    group : `torch.LongTensor`, `(batch,)`
        The number of each instance's input.
    gold : `TagCandidates`
        The gold of all training instances with these inputs, as their only candidates.
    group_of_gold : `torch.LongTensor`, `(golds,)`
        The number of the input that each of these belongs to.
    """

    group: torch.Tensor
    gold: "TagCandidates"
    group_of_gold: torch.Tensor

    def counts(self, codes: torch.Tensor, rows: torch.Tensor, asked: torch.Tensor, of_rows: torch.Tensor):
        """
        How often codes occur in the gold of an instance's group.

        # Parameters

        codes, rows : `torch.LongTensor`, `(codes,)`
            What is counted, and in which of the golds it is.
        asked : `torch.LongTensor`, `(..., n)`
            Codes of things in the batch.
        of_rows : `torch.LongTensor`, broadcasts to `asked`
            The instance of each.

        # Returns

        `torch.FloatTensor`, of the shape of `asked`
        """
        known, counts = mixed([codes, self.group_of_gold[rows]], 0).unique(return_counts=True)
        return looked_up(known, counts.float(), mixed([asked, self.group[of_rows]], 0))


@dataclass
class TagCandidates:
    """
    Tag sequences that compete.

    # Parameters

    tags, log_prob, mask, keys, token_log_prob, words, places : as for `seal.structure.TagPaths`
        The tags are long; `token_log_prob` is 0 at padding.
    scheme : `TagScheme`
    gold : `torch.LongTensor`, `(batch,)`, optional
        The index of the gold sequence, -1 where it does not compete.
    own : `OwnGold`, optional
        Of training data, what counts leave out.
    """

    tags: torch.Tensor
    log_prob: torch.Tensor
    mask: torch.Tensor
    scheme: TagScheme
    gold: torch.Tensor | None = None
    keys: list[str] = field(default_factory=list)
    own: OwnGold | None = None
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
        """All spans of all candidates, one after the other."""
        batch, candidates, _ = self.spans.roles.shape
        row, candidate, place = (self.spans.roles >= 0).nonzero(as_tuple=True)
        role, first, last = (
            part[row, candidate, place] for part in (self.spans.roles, self.spans.first, self.spans.last)
        )
        return ListedSpans(row * candidates + candidate, role, first, last, place + 1)

    @cached_property
    def distinct_spans(self) -> DistinctSpans:
        """The listed spans without repetition, in sentences whose words must be known."""
        spans, tokens, roles = self.listed_spans, self.mask.shape[1], len(self.scheme.roles)
        row = spans.candidate // self.log_prob.shape[1]
        code = ((row * tokens + spans.first) * tokens + spans.last) * roles + spans.role
        # Candidates have most of their spans in common.
        code, number = code.unique(return_inverse=True)
        place, role = code // roles, code % roles
        row, first, last = place // tokens**2, place // tokens % tokens, place % tokens
        return DistinctSpans(role, SpanFeatures(row, first, last, self.words, tokens, self.places, self.keys), number)

    def of_rows(self, rows: torch.Tensor) -> "TagCandidates":
        """Some of the instances, padded to the longest of these."""
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
        """What constraints are asked about."""
        return self.tags, self.mask

    def parts(self) -> list["TagCandidates"]:
        return [self]

    def with_gold(self) -> "TagCandidates":
        """All of them: there are few whose gold does not compete."""
        return self

    def of_gold(self, values: torch.Tensor) -> torch.Tensor:
        """The rows of `values (batch, candidates, ...)` that belong to gold, where it competes: `(instances, ...)`."""
        gold = require(self.gold, "gold")
        rows = (gold >= 0).nonzero().squeeze(1)
        return values[rows, gold[rows]]


def find_gold(tags: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The index among `tags (batch, candidates, tokens)` of `gold (batch, tokens)`, -1 where it is not there."""
    equal = ((tags == gold.unsqueeze(1)) | ~mask.unsqueeze(1)).all(dim=-1)
    return torch.where(equal.any(dim=1), equal.long().argmax(dim=1), -1)
