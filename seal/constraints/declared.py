"""`Declared`: evaluates several constraints on the outputs of one output space."""

from collections.abc import Sequence
from functools import partial
from typing import Optional

import torch
from torch import nn
from torch.nn import functional as F

from seal.constraints.constraint import Constraint, Outputs
from seal.constraints.span_starts import SpanStarts, occurrences


class Declared(nn.Module):
    """
    The constraints of one output space.

    The number of spans with the label `X` in a relaxed tag sequence `y` is

    `n_X(y) = sum_t y_t[B-X] + y_t[S-X] + max(0, y_t[I-X] + y_t[E-X] - y_{t-1}[B-X] - y_{t-1}[I-X])`.

    For discrete sequences this is exact. For the marginals of a distribution over legal sequences it is the expected
    number of spans, and for the marginals of any distribution a lower bound of it.

    # Parameters

    constraints : `Sequence[Constraint]`
    labels : `list[str]`
        The labels, or the tags, by index.
    sequences : `bool`
        True if outputs are tag sequences, false if they are label sets.
    encoding : `str`, optional
        For tags, `"BIO"` or `"BIOES"`: spans are counted, as `seal.common.tag_encodings.tags_to_spans` reads them (an
        `I-X` or `E-X` that continues no span begins one). `None`: tags are counted.

    # Raises

    `ConfigurationError` if a constraint names an unknown label.
    """

    _counted: torch.Tensor
    _continues: torch.Tensor
    _continued: torch.Tensor

    def __init__(
        self,
        constraints: Sequence[Constraint],
        labels: Sequence[str],
        sequences: bool,
        encoding: Optional[str] = None,
    ) -> None:
        super().__init__()
        self.constraints = nn.ModuleList(constraints)
        self.names = [constraint.name for constraint in constraints]
        self.sequences = sequences
        self._labels = {label: place for place, label in enumerate(labels)}
        spans = dict.fromkeys(tag[2:] for tag in labels if tag != "O")
        self._names = self._labels if encoding is None else {span: place for place, span in enumerate(spans)}
        self._encoding = encoding
        # 0-1 tables (tags, names): tags that always begin a span (or are counted themselves), tags that continue one,
        # and tags whose span may go on.
        for name, prefixes in {"_counted": "BS", "_continues": "IE", "_continued": "BI"}.items():
            table = torch.zeros(len(labels), len(self._names))
            for label, place in self._labels.items():
                if encoding is None:
                    table[place, place] = 1
                elif label != "O" and label[0] in prefixes:
                    table[place, self._names[label[2:]]] = 1
            self.register_buffer(name, table, persistent=False)
        self._starts = SpanStarts(labels, encoding, list(self._names)) if sequences else None
        # An example output, which makes a misspelt label raise now.
        self(torch.zeros(1, 1, 1, dtype=torch.long) if sequences else torch.zeros(1, 1, len(labels)))

    def _one_hot(self, tags: torch.Tensor, mask: Optional[torch.Tensor]) -> torch.Tensor:
        one_hot = F.one_hot(tags, len(self._labels)).to(self._counted)
        return one_hot if mask is None else one_hot * mask[:, None, :, None]

    def begins(self, relaxed: torch.Tensor, names: Sequence[str]) -> torch.Tensor:
        """
        The probability that a span of each name begins at each token, `y_t[B-X] + y_t[S-X]` of relaxed tags `y`, `(...,
        tokens, tags)`: `(..., tokens, names)`.
        """
        return relaxed @ self._counted[:, [self._names[name] for name in names]].to(relaxed)

    def forward(self, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        # Parameters

        outputs : `torch.Tensor`
            Label sets, `(batch, samples, labels)`; or tags, as indices `(batch, samples, tokens)` or relaxed `(batch,
            samples, tokens, tags)`.
        mask : `torch.BoolTensor`, `(batch, tokens)`, optional

        # Returns

        `torch.Tensor`, `(batch, samples, constraints)`: the violations, at least 0
        """
        counted = self._counted
        if self._starts is None:
            seen = Outputs(self._names, outputs.to(torch.promote_types(outputs.dtype, counted.dtype)))
        elif not outputs.is_floating_point():
            begun = self._starts.of(outputs, mask)
            one_hot = partial(self._one_hot, outputs, mask)
            seen = Outputs(self._names, occurrences(begun, len(self._names), counted.dtype), self._labels, one_hot)
        else:
            relaxed = outputs if mask is None else outputs * mask[:, None, :, None]
            counts = relaxed.sum(dim=2) @ counted.to(relaxed)
            if self._encoding is not None:
                before = F.pad(relaxed @ self._continued.to(relaxed), (0, 0, 1, 0))[:, :, :-1]
                counts = counts + (relaxed @ self._continues.to(relaxed) - before).clamp(min=0).sum(dim=2)
            seen = Outputs(self._names, counts, self._labels, lambda: relaxed)
        return torch.stack([constraint(seen) for constraint in self.constraints], dim=-1)
