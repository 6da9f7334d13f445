"""Finds the starts of spans in batches of tag sequences, and counts labels in them."""

from collections.abc import Sequence
from typing import Optional

import torch
from torch import nn
from torch.nn import functional as F


class SpanStarts(nn.Module):
    """
    Finds where spans begin in batches of tag sequences, as `seal.common.tag_encodings.tags_to_spans` reads them: an
    `I-X` or `E-X` that continues no span begins one.

    # Parameters

    tags : `Sequence[str]`
        The names of the tags by index.
    encoding : `str`, optional
        `"BIO"` or `"BIOES"`. `None`: every token is a span of its tag.
    names : `Sequence[str]`
        The labels of spans, or the tags, by index.
    """

    #: The number of each tag's label, `(tags,)`; -1 for `O`.
    name_of: torch.Tensor
    _begun: torch.Tensor

    def __init__(self, tags: Sequence[str], encoding: Optional[str], names: Sequence[str]) -> None:
        super().__init__()
        spanless = encoding is None
        index = {name: number for number, name in enumerate(names)}
        name_of = torch.tensor([index[tag] if spanless else index.get(tag[2:], -1) for tag in tags])
        #: The number for no label.
        self.none = len(names)
        # Whether a tag always begins a span, and whether it always ends one.
        begins = torch.tensor([spanless or tag[:1] in ("B", "S") for tag in tags])
        ends = torch.tensor([spanless or tag[:1] in ("E", "S") for tag in tags])
        # One more tag without a label stands for padding, and before the first token.
        name, begins, ends = (F.pad(part, (0, 1), value=-1) for part in (name_of, begins.long(), ends.long()))
        starts = (name >= 0) & ((begins == 1) | (name != name.unsqueeze(1)) | (ends.unsqueeze(1) == 1))
        # Not saved: they follow from the tags. `_begun` is indexed `[previous tag, tag]`.
        self.register_buffer("name_of", name_of, persistent=False)
        self.register_buffer("_begun", torch.where(starts, name, self.none), persistent=False)

    def of(self, tags: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        The label number of the span that begins at each token, `none` where no span begins.

        # Parameters

        tags : `torch.LongTensor`, `(batch, samples, tokens)`
        mask : `torch.BoolTensor`, `(batch, tokens)`, optional

        # Returns

        `torch.LongTensor`, `(batch, samples, tokens)`
        """
        padding = len(self.name_of)
        if mask is not None and not bool(mask.all()):
            tags = tags.masked_fill(~mask.unsqueeze(1), padding)
        pairs = F.pad(tags[..., :-1], (1, 0), value=padding) * (padding + 1) + tags
        return self._begun.to(tags.device).take(pairs)


def occurrences(numbers: torch.Tensor, size: int, dtype: torch.dtype = torch.long) -> torch.Tensor:
    """The count of each number below `size` in `numbers`, `(batch, samples, n)`: `(batch, samples, size)`."""
    counts = torch.zeros(*numbers.shape[:2], size + 1, dtype=dtype, device=numbers.device)
    counts.scatter_add_(2, numbers, counts.new_ones(()).expand(numbers.shape))
    return counts[..., :size].contiguous()
