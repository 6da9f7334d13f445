"""
Sums over all tag sequences of a linear chain `P(y | x) = exp(score(y)) / Z`, where
`score(y) = starts[y_1] + sum_t scores_t[y_t] + sum_t transitions[y_{t-1}, y_t] + ends[y_T]`,
by the forward-backward algorithm (Rabiner 1989; Lafferty, McCallum & Pereira 2001).
"""

import math
from collections.abc import Callable
from typing import Optional

import torch
from torch import nn

LogSum = Callable[[torch.Tensor], torch.Tensor]


class DensePairs:
    """
    Scores of two tags in a row, any number for each pair. A sum over the tag before costs `C^2`.

    # Parameters

    transitions : `torch.Tensor`, `(tags, tags)`
        `transitions[i, j]` is for tag `j` after tag `i`; `-inf` for a pair that may not be.
    """

    def __init__(self, transitions: torch.Tensor) -> None:
        self.transitions = transitions
        wide = transitions.to(wide_type(transitions))
        self._before = _Product(wide)
        self._after = _Product(wide.t())
        #: How far the score of a pair that may be is below the best one, at most: a scalar, 0 or above.
        self.spread = wide.detach().amax().clamp(min=0) - _least(wide.detach())

    def before(self, values: torch.Tensor) -> torch.Tensor:
        """`log sum_i exp(values_i + transitions[i, j])`: `(batch, tags)` to the same shape."""
        return self._before(values)

    def after(self, values: torch.Tensor) -> torch.Tensor:
        """`log sum_j exp(transitions[i, j] + values_j)`: `(batch, tags)` to the same shape."""
        return self._after(values)


class LegalPairs(nn.Module):
    """
    Pairs of tags that may or may not be, with nothing else to choose between them. In BIO and BIOES nearly all tags
    may follow the same ones, but for one or two of their own label, so that a sum over the tag before costs `C`.

    # Parameters

    transitions : `torch.Tensor`, `(tags, tags)`
        0 where tag `j` may follow tag `i`, `-inf` where not.
    """

    def __init__(self, transitions: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("transitions", transitions, persistent=False)
        allowed = transitions == 0
        self.before = _Sets(allowed.t())
        self.after = _Sets(allowed)
        self.spread = 0.0


class Chain:
    """
    The distribution over tag sequences that scores make. It is computed in double precision where the device has it,
    and given in that of `scores`. Scores may be as far apart as may be: sums in which products of exponentials would
    underflow are taken of logarithms.

    # Parameters

    scores : `torch.Tensor`, `(batch, tokens, tags)`
    pairs : `Union[DensePairs, LegalPairs]`
    starts, ends : `torch.Tensor`, `(tags,)`, optional
        Added at the first and at the last real token.
    mask : `torch.BoolTensor`, `(batch, tokens)`, optional
        True at real tokens, which come first; at least one of each sequence.
    """

    def __init__(
        self,
        scores: torch.Tensor,
        pairs,
        starts: Optional[torch.Tensor] = None,
        ends: Optional[torch.Tensor] = None,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        batch, tokens, _ = scores.shape
        if mask is None:
            mask = torch.ones(batch, tokens, dtype=torch.bool, device=scores.device)
        self.pairs, self.mask, self.dtype = pairs, mask, scores.dtype
        places = torch.arange(tokens, device=scores.device)
        # The scores of the first and the last token hold those of start and end.
        scores = scores.to(wide_type(scores))
        if starts is not None:
            scores = torch.where((places == 0).view(1, -1, 1), scores + starts, scores)
        if ends is not None:
            last = places == mask.sum(dim=1, keepdim=True) - 1
            scores = torch.where(last.unsqueeze(2), scores + ends, scores)
        self.scores = scores
        self._forward: Optional[tuple[torch.Tensor, ...]] = None

    @property
    def forward(self) -> tuple[torch.Tensor, ...]:
        """
        For each token `alpha_t[j]`, the log of the sum over all beginnings that end in tag `j`: `(batch, tags)` each.
        At padding it is that of the last real token.
        """
        if self._forward is None:
            found = self._forward_by(self.pairs.before)
            if self._may_underflow(found):
                transitions = self.pairs.transitions
                found = self._forward_by(lambda values: _log_sum(values, transitions))
            self._forward = tuple(found)
        return self._forward

    def _forward_by(self, before: LogSum) -> list[torch.Tensor]:
        scores, mask = self._by_token()
        alpha = scores[0]
        found = [alpha]
        for t in range(1, len(scores)):
            alpha = torch.where(mask[t], before(alpha) + scores[t], alpha)
            found.append(alpha)
        return found

    def _backward_by(self, after: LogSum) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """For each token the log of the sum over all ways to go on, from the last; and of what it is a sum."""
        scores, mask = self._by_token()
        beta = torch.zeros_like(scores[0])
        found, summed = [beta], []
        for t in range(len(scores) - 1, 0, -1):
            summed.append(scores[t] + beta)
            beta = torch.where(mask[t], after(summed[-1]), beta)
            found.append(beta)
        return found, summed

    def _by_token(self) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
        # The gradient of an index is as large as all of what is indexed, each time.
        return self.scores.unbind(dim=1), self.mask.unsqueeze(2).unbind(dim=1)

    @torch.no_grad()
    def _may_underflow(self, values: list[torch.Tensor]) -> bool:
        """Whether values of which `pairs` took log-sums are so far apart that a term may have been lost in one."""
        if self.scores.shape[1] < 2 or not self.scores.numel():
            return False
        stacked = torch.stack(values)
        # Terms above this share of the largest one, about 1e-260, are in no danger.
        least = 0.85 * math.log(torch.finfo(stacked.dtype).tiny)
        return bool((stacked.amax(dim=2) - _least(stacked, dim=2) + self.pairs.spread > -least).any())

    def log_partition(self) -> torch.Tensor:
        """`log Z`, `(batch,)`."""
        return self._log_partition().to(self.dtype)

    def _log_partition(self) -> torch.Tensor:
        return self.forward[-1].logsumexp(dim=1)

    def marginals(self) -> torch.Tensor:
        """`P(y_t = j | x)`, with gradient: `(batch, tokens, tags)`, 0 at padding."""
        backward, summed = self._backward_by(self.pairs.after)
        if self._may_underflow(summed):
            transitions = self.pairs.transitions.t()
            backward, _ = self._backward_by(lambda values: _log_sum(values, transitions))
        through = torch.stack(self.forward, dim=1) + torch.stack(backward[::-1], dim=1)
        # A softmax is the same as dividing by Z, which rounding may put a little beside the sum.
        return (through.softmax(dim=2) * self.mask.unsqueeze(2)).to(self.dtype)

    @torch.no_grad()
    def sample(self, num_samples: int) -> torch.Tensor:
        """
        Independent samples, the last tag first and each other one given the tag after it: `(batch, num_samples,
        tokens)`, 0 at padding.
        """
        batch, tokens, _ = self.scores.shape
        rows = self.pairs.transitions.t().to(self.dtype)
        after, found = None, []
        for t in range(tokens - 1, -1, -1):
            # Near 0 in single precision, too, where differences count.
            alpha = self.forward[t]
            logits = (alpha - alpha.amax(dim=1, keepdim=True)).to(self.dtype).unsqueeze(1)
            if after is not None:
                # Where the next token is padding, there is no tag after.
                logits = torch.where(self.mask[:, t + 1, None, None], logits + rows[after], logits)
            sums = logits.expand(batch, num_samples, -1).softmax(dim=2).cumsum(dim=2)
            level = (1 - torch.rand(batch, num_samples, 1, dtype=sums.dtype, device=sums.device)) * sums[..., -1:]
            after = (sums < level).sum(dim=2)
            found.append(after)
        return torch.stack(found[::-1], dim=2) * self.mask.unsqueeze(1)

    def log_prob(self, outputs: torch.Tensor) -> torch.Tensor:
        """`log P(y | x)` of each of `outputs (batch, samples, tokens)`: `(batch, samples)`."""
        # With the samples last, the backward pass of `gather` fills (batch, tokens, tags), and not samples times that.
        chosen = self.scores.gather(2, outputs.transpose(1, 2)).masked_fill(~self.mask.unsqueeze(2), 0)
        between = self.pairs.transitions[outputs[..., :-1], outputs[..., 1:]]
        between = between.masked_fill(~self.mask[:, 1:].unsqueeze(1), 0)
        score = chosen.sum(dim=1) + between.sum(dim=2, dtype=chosen.dtype)
        return (score - self._log_partition().unsqueeze(1)).to(self.dtype)


def wide_type(values: torch.Tensor) -> torch.dtype:
    """Double precision, but for Apple's GPUs, which have none."""
    return torch.float if values.device.type == "mps" else torch.double


def _log(sums: torch.Tensor) -> torch.Tensor:
    """The logarithm of sums; of one that has underflowed, or has no term, that of the smallest number."""
    return sums.clamp(min=torch.finfo(sums.dtype).tiny).log()


def _log_sum(values: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
    """`log sum_i exp(values_i + matrix[i, j])`, `-inf` of no term: `C^2` exponentials, shifted for each sum."""
    terms = values.unsqueeze(2) + matrix
    most = terms.detach().amax(dim=1)
    most = most.masked_fill(most.isneginf(), 0)
    sums = (terms - most.unsqueeze(1)).exp().sum(dim=1)
    # A logarithm of 0 has a gradient that is not a number.
    return sums.masked_fill(sums == 0, 1).log().masked_fill(sums == 0, -torch.inf) + most


def _least(values: torch.Tensor, dim: tuple[int, ...] | int = ()) -> torch.Tensor:
    """The least that is not `-inf`; `inf` where all are."""
    return values.nan_to_num(torch.nan, torch.inf, torch.inf).amin(dim=dim)


class _Product:
    """`log(exp(values) @ exp(matrix))`, by one product of matrices."""

    def __init__(self, matrix: torch.Tensor) -> None:
        # Finite also where a tag may follow none.
        self._most = matrix.amax(dim=0).detach().clamp(min=0)
        self._factors = (matrix - self._most).exp()

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        most = values.amax(dim=1, keepdim=True).detach()
        sums = (values - most).exp() @ self._factors
        return _log(sums) + most + self._most


class _Sets(nn.Module):
    """
    `log sum_{i in S_j} exp(values_i)` for a set of tags `S_j` each, `(batch, tags)` to the same shape. What the large
    sets share is summed once for all of them.
    """

    _own: torch.Tensor
    _shared: torch.Tensor
    _takes_shared: torch.Tensor

    def __init__(self, members: torch.Tensor) -> None:
        super().__init__()
        few = 4
        large = members.sum(dim=1) > few
        shared = members[large].all(dim=0) if large.any() else members.new_zeros(members.shape[1])
        rest = members & ~(shared & large.unsqueeze(1))
        width = max(int(rest.sum(dim=1).max()), 1)
        # The number of tags stands for no tag.
        own = torch.full((len(members), width), members.shape[1])
        for row, tags in enumerate(rest):
            chosen = tags.nonzero().squeeze(1)
            own[row, : len(chosen)] = chosen
        self.register_buffer("_own", own, persistent=False)
        self.register_buffer("_shared", shared.double(), persistent=False)
        self.register_buffer("_takes_shared", large.double(), persistent=False)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        most = values.amax(dim=1, keepdim=True).detach()
        powers = (values - most).exp()
        shared = (powers @ self._shared.to(powers)).unsqueeze(1)
        sums = shared * self._takes_shared.to(powers)
        powers = torch.cat([powers, torch.zeros_like(shared)], dim=1)
        for column in self._own.unbind(dim=1):
            sums = sums + powers.index_select(1, column)
        return _log(sums) + most
