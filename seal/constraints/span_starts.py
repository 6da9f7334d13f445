from collections.abc import Sequence
from typing import Optional

import torch
from torch import nn
from torch.nn import functional as F


class SpanStarts(nn.Module):
    """
    Where spans begin in batches of tag sequences, as `seal.common.tag_encodings.tags_to_spans` reads them: an `I-X` or
    `E-X` that continues nothing begins one.

    # Parameters

    tags : `Sequence[str]`
        The names of the tags by index.
    encoding : `str`, optional
        `"BIO"` or `"BIOES"`. `None`: every token is a span of its tag.
    names : `Sequence[str]`
        The labels of spans, or the tags, in the order in which they are numbered.
    """

    #: The number of each tag's label, `(tags,)`; -1 for `O`.
    name_of: torch.Tensor
    _begun: torch.Tensor

    def __init__(self, tags: Sequence[str], encoding: Optional[str], names: Sequence[str]) -> None:
        super().__init__()
        spanless = encoding is None
        index = {name: number for number, name in enumerate(names)}
        name_of = torch.tensor([index[tag] if spanless else index.get(tag[2:], -1) for tag in tags])
        #: The number that stands for none.
        self.none = len(names)
        # Whether a tag begins a span wherever it stands, and whether it ends one.
        begins = torch.tensor([spanless or tag[:1] in ("B", "S") for tag in tags])
        ends = torch.tensor([spanless or tag[:1] in ("E", "S") for tag in tags])
        # Padding, and what is before the first token, is one tag more, of no label.
        name, begins, ends = (F.pad(part, (0, 1), value=-1) for part in (name_of, begins.long(), ends.long()))
        starts = (name >= 0) & ((begins == 1) | (name != name.unsqueeze(1)) | (ends.unsqueeze(1) == 1))
        # Not saved: they follow from the tags. Of a tag, the second index, after another, the first.
        self.register_buffer("name_of", name_of, persistent=False)
        self.register_buffer("_begun", torch.where(starts, name, self.none), persistent=False)

    def of(self, tags: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        The number of the label of the span that begins at each token, `none` where none does: of tags `(batch, samples,
        tokens)` and the mask of real tokens `(batch, tokens)` to the shape of the tags.
        """
        padding = len(self.name_of)
        if mask is not None and not bool(mask.all()):
            tags = tags.masked_fill(~mask.unsqueeze(1), padding)
        pairs = F.pad(tags[..., :-1], (1, 0), value=padding) * (padding + 1) + tags
        return self._begun.to(tags.device).take(pairs)


def occurrences(numbers: torch.Tensor, size: int, dtype: torch.dtype = torch.long) -> torch.Tensor:
    """How often each of `0` to `size - 1` is among `numbers`, `(batch, samples, some)`: `(batch, samples, size)`."""
    counts = torch.zeros(*numbers.shape[:2], size + 1, dtype=dtype, device=numbers.device)
    counts.scatter_add_(2, numbers, counts.new_ones(()).expand(numbers.shape))
    return counts[..., :size].contiguous()
