"""The rule that arguments of two predicates of a sentence do not cross, as a loss."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any

import torch


class CrossingSpans(torch.nn.Module):
    """
    The expected number of crossing spans in a batch of frames, for each frame. Two spans cross if they overlap and
    neither contains the other. In PropBank's data no arguments of two predicates of a sentence do, as each is a phrase
    of one tree. It is the second rule of structured tuning, "exclusively overlapping roles" (Li et al. 2020, whose own
    form is one in log-space over pairs of tokens).

    With `b_u(t)` and `i_u(t)` the probabilities that a span of the frame `u` begins or goes on at the token `t`, a span
    of `v` begins inside one of `u`, at `c`, and goes on after its end, before `e`:

        n(u, v) = sum_{c < e} b_v(c) i_u(c) prod_{c < t < e} i_u(t) i_v(t) (1 - i_u(e)) i_v(e)

        loss = sum_{u != v of one sentence} n(u, v) / number of frames

    `n` is the expectation if tags are independent; of discrete legal tags it is the number itself.

    # Parameters

    labels : `Sequence[str]`
        The BIO or BIOES tags, by index.
    """

    _begins: torch.Tensor
    _goes_on: torch.Tensor

    def __init__(self, labels: Sequence[str]) -> None:
        super().__init__()
        for name, prefixes in {"_begins": "BS", "_goes_on": "IE"}.items():
            places = [place for place, tag in enumerate(labels) if tag[0] in prefixes and tag[1:2] == "-"]
            self.register_buffer(name, torch.tensor(places, dtype=torch.long), persistent=False)

    def forward(self, tags: torch.Tensor, metadata: Iterable[dict[str, Any]]) -> torch.Tensor:
        """
        # Parameters

        tags : `torch.FloatTensor`, `(frames, tokens, tags)`
            The tags' probabilities, 0 at padding.
        metadata : `Iterable[dict[str, Any]]`
            Of each frame, `source` says which sentence it is of; without one, it is compared with no other.

        # Returns

        `torch.Tensor`, a scalar, at least 0
        """
        rows = defaultdict(list)
        for row, known in enumerate(metadata):
            if known["source"] is not None:
                rows[known["source"]].append(row)
        pairs = [pair for of_sentence in rows.values() for pair in permutations(of_sentence, 2)]
        if not pairs:
            return tags.new_zeros(())
        outer, later = torch.tensor(pairs, device=tags.device).unbind(dim=1)
        begins, goes_on = tags[..., self._begins].sum(dim=-1), tags[..., self._goes_on].sum(dim=-1)
        return expected_crossings(goes_on[outer], begins[later], goes_on[later]).sum() / len(tags)


def expected_crossings(outer: torch.Tensor, begins: torch.Tensor, goes_on: torch.Tensor) -> torch.Tensor:
    """
    `n(u, v)` of each pair, `(pairs,)`, of `i_u`, `b_v` and `i_v`, `(pairs, tokens)` each. It takes one pass over the
    tokens, on which `inside` is the probability that a span of `v` has begun within one of `u`, and both go on.
    """
    inside, crossings = outer.new_zeros(len(outer)), outer.new_zeros(len(outer))
    for i_u, b_v, i_v in zip(outer.unbind(1), begins.unbind(1), goes_on.unbind(1)):
        going_on = inside * i_v
        crossings = crossings + going_on * (1 - i_u)
        inside = (b_v + going_on) * i_u
    return crossings
