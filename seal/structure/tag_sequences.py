from dataclasses import dataclass, field

import torch
from torch.nn import functional as F

from seal.common.setting_checks import needed


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
        spanless = encoding is None
        roles = sorted({tag if spanless else tag[2:] for tag in tags if spanless or tag != "O"})
        index = {role: number for number, role in enumerate(roles)}
        #: The names of the roles (or labels of entities), by index.
        self.roles = roles
        #: The role of each tag; -1 for `O`.
        self.role_of = torch.tensor([index[t] if spanless else index.get(t[2:], -1) for t in tags])
        #: Whether a tag begins a span wherever it stands, and whether it ends one.
        self.begins = torch.tensor([spanless or tag[:1] in ("B", "S") for tag in tags])
        self.ends = torch.tensor([spanless or tag[:1] in ("E", "S") for tag in tags])

    def spans(self, tags: torch.Tensor, mask: torch.Tensor) -> "Spans":
        """
        # Parameters

        tags : `torch.LongTensor`, `(batch, candidates, tokens)`
        mask : `torch.BoolTensor`, `(batch, tokens)`

        # Returns

        `Spans`
            Read as `seal.common.tag_encodings.tags_to_spans` reads them: an `I-X` that continues nothing begins a span.
        """
        device = tags.device
        real = mask.unsqueeze(1)
        role = self.role_of.to(device)[tags].masked_fill(~real, -1)
        before = F.pad(role[..., :-1], (1, 0), value=-1)
        closed = F.pad(self.ends.to(device)[tags][..., :-1], (1, 0), value=True)
        starts = (role >= 0) & (self.begins.to(device)[tags] | (role != before) | closed)
        # shape: (batch, candidates, tokens), the number of each token's span, from 0
        number = starts.cumsum(dim=-1) - 1
        width = max(int(number.max()) + 1, 1) if number.numel() else 1
        inside = role >= 0
        slot = torch.where(inside, number, width)
        shape = (*tags.shape[:2], width + 1)
        place = torch.arange(tags.shape[-1], device=device).expand_as(tags)
        roles = torch.full(shape, -1, device=device, dtype=torch.long)
        roles.scatter_(2, torch.where(starts, number, width), role)
        first = torch.full(shape, -1, device=device, dtype=torch.long)
        first.scatter_(2, torch.where(starts, number, width), place)
        last = torch.full(shape, -1, device=device, dtype=torch.long)
        last.scatter_reduce_(2, slot, place, reduce="amax")
        return Spans(roles[..., :-1], first[..., :-1], last[..., :-1])


@dataclass
class Spans:
    """The spans of candidates from left to right, each `(batch, candidates, spans)`; a filler has the role -1."""

    roles: torch.Tensor
    first: torch.Tensor
    last: torch.Tensor

    def codes(self, tokens: int, num_roles: int) -> torch.Tensor:
        """A number for each span, equal for equal spans; -1 for fillers."""
        code = (self.first * tokens + self.last) * num_roles + self.roles
        return code.masked_fill(self.roles < 0, -1)


@dataclass
class CompetingTags:
    """
    Tag sequences that compete.

    # Parameters

    tags : `torch.LongTensor`, `(batch, candidates, tokens)`
    log_prob : `torch.Tensor`, `(batch, candidates)`
        `log P(y|x)` under the task-net, in nats; `-inf` for a filler.
    mask : `torch.BoolTensor`, `(batch, tokens)`
    scheme : `TagScheme`
    gold : `torch.LongTensor`, `(batch,)`, optional
        The index of the gold sequence, -1 where it does not compete.
    keys : `list[str]`, optional
        What each instance is about, such as the predicate of a frame.
    own : `bool`, optional (default = `False`)
        Whether the instances are training data, so that counts leave out an instance's own gold.
    """

    tags: torch.Tensor
    log_prob: torch.Tensor
    mask: torch.Tensor
    scheme: TagScheme
    gold: torch.Tensor | None = None
    keys: list[str] = field(default_factory=list)
    own: bool = False

    def __post_init__(self) -> None:
        #: The spans that the candidates' tags encode.
        self.spans = self.scheme.spans(self.tags, self.mask)
        roles = self.spans.roles
        counts = torch.zeros(*roles.shape[:2], len(self.scheme.roles) + 1, dtype=torch.long, device=roles.device)
        counts.scatter_add_(2, roles.masked_fill(roles < 0, len(self.scheme.roles)), torch.ones_like(roles))
        #: How often each role occurs, `(batch, candidates, roles)`.
        self.role_counts = counts[..., :-1]

    def outputs_and_mask(self) -> tuple[torch.Tensor, torch.Tensor]:
        """What constraints are asked about."""
        return self.tags, self.mask

    def parts(self) -> list["CompetingTags"]:
        return [self]

    def with_gold(self) -> "CompetingTags":
        """All of them: there are few whose gold does not compete."""
        return self

    def of_gold(self, values: torch.Tensor) -> torch.Tensor:
        """The rows of `values (batch, candidates, ...)` that belong to gold, where it competes: `(instances, ...)`."""
        gold = needed(self.gold, "gold")
        rows = (gold >= 0).nonzero().squeeze(1)
        return values[rows, gold[rows]]


def find_gold(tags: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The index among `tags (batch, candidates, tokens)` of `gold (batch, tokens)`, -1 where it is not there."""
    equal = ((tags == gold.unsqueeze(1)) | ~mask.unsqueeze(1)).all(dim=-1)
    return torch.where(equal.any(dim=1), equal.long().argmax(dim=1), -1)
