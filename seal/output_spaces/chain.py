"""
`log Z`, marginals and samples of a linear chain over tag sequences, `P(y | x) = exp(score(y)) / Z` with
`score(y) = starts[y_1] + sum_t scores_t[y_t] + sum_t transitions[y_{t-1}, y_t] + ends[y_T]`,
by the forward-backward algorithm (Rabiner 1989; Lafferty, McCallum & Pereira 2001).

The time depends mostly on the number of tensor operations, on a GPU entirely. So the forward and the backward pass run
at once, as two rows of a batch, and first derivatives are written out: those of `log Z` are the marginals, and those of
the marginals take one more pass, as the matrix of second derivatives of `log Z` is symmetric. Autograd computes higher
derivatives.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Optional

import torch
from torch.nn import functional as F

LogSum = Callable[[torch.Tensor], torch.Tensor]


class Chain:
    """
    The distribution of a linear chain over tag sequences. It is computed in double precision if the device has it, and
    returned in the precision of `scores`. Scores may differ by any amount: where products of exponentials would
    underflow, sums are computed from logarithms.

    # Parameters

    scores : `torch.Tensor`, `(batch, tokens, tags)`
    transitions : `torch.Tensor`, `(tags, tags)`
        `transitions[i, j]` is the score of tag `j` after tag `i`; `-inf` for an impossible pair.
    starts, ends : `torch.Tensor`, `(tags,)`, optional
        Added at the first and at the last real token.
    mask : `torch.BoolTensor`, `(batch, tokens)`, optional
        True at real tokens, which come first; at least one of each sequence.
    """

    def __init__(
        self,
        scores: torch.Tensor,
        transitions: torch.Tensor,
        starts: Optional[torch.Tensor] = None,
        ends: Optional[torch.Tensor] = None,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        tokens = _Tokens(scores, mask)
        # Tokens first, as each step reads one token of all sequences; a copy, as it is changed in place.
        wide = scores.transpose(0, 1).to(wide_type(scores), copy=True, memory_format=torch.contiguous_format)
        tokens.only_real_(wide)
        rows = torch.arange(len(scores), device=scores.device)
        for places, more in ((torch.zeros_like(tokens.last), starts), (tokens.last, ends)):
            if more is not None:
                wide.index_put_((places, rows), more.to(wide), accumulate=True)
        # `starts` and `ends` are included in the scores of the first and last token. shape: (tokens, batch, tags)
        self._scores, self._transitions = wide, transitions.to(wide)
        self._tokens, self._dtype = tokens, scores.dtype
        self._known: Optional[_Sweep] = None

    def log_partition(self) -> torch.Tensor:
        """`log Z`, `(batch,)`."""
        return self._sums("log_partition").to(self._dtype)

    def marginals(self) -> torch.Tensor:
        """`P(y_t = j | x)`, with gradient: `(batch, tokens, tags)`, 0 at padding."""
        return self._sums("marginals").transpose(0, 1).to(self._dtype)

    def _sums(self, what: str) -> torch.Tensor:
        """The result of the method `what` of `_Sweep` or, where that would underflow, of `_Logarithms`."""
        has_slope = torch.is_grad_enabled() and (self._scores.requires_grad or self._transitions.requires_grad)
        sweep = self._sweep(ways=2 if has_slope or what == "marginals" else 1)
        if not sweep.is_exact:
            return getattr(self._logarithms(), what)()
        return _OfSweep.apply(self._scores, self._transitions, sweep, what) if has_slope else getattr(sweep, what)()

    @torch.no_grad()
    def _sweep(self, ways: int) -> "_Sweep":
        if self._known is None or self._known.ways < ways:
            self._known = _Sweep(self._scores, self._transitions, self._tokens, ways)
        return self._known

    @torch.no_grad()
    def sample(self, num_samples: int) -> torch.Tensor:
        """
        Independent samples, `(batch, num_samples, tokens)`, 0 at padding. The last tag is drawn first, and each other
        tag given the tag after it.
        """
        sweep, real = self._sweep(ways=1), self._tokens.real
        sums = sweep if sweep.is_exact else self._logarithms()
        length, batch, none = self._scores.shape
        after = torch.full((batch, num_samples), none, device=self._scores.device)
        tags = []
        for t in range(length - 1, -1, -1):
            if real is not None and t + 1 < length:
                # Where the next token is padding, this is the last tag.
                after = torch.where(real[t + 1], after, none)
            up_to = sums.weights(t, after).cumsum(dim=2)
            chance = 1 - torch.rand(batch, num_samples, 1, dtype=self._dtype, device=after.device)
            # The last tag if a score is NaN.
            after = torch.searchsorted(up_to, chance * up_to[..., -1:]).squeeze(2).clamp_(max=none - 1)
            tags.append(after)
        return self._tokens.only_real_(torch.stack(tags[::-1])).permute(1, 2, 0)

    def log_prob(self, outputs: torch.Tensor) -> torch.Tensor:
        """`log P(y | x)` of each of `outputs (batch, samples, tokens)`: `(batch, samples)`."""
        # With the samples last, the backward pass of `gather` fills (tokens, batch, tags) once for all samples.
        places = outputs.permute(2, 0, 1)
        chosen = self._tokens.only_real_(self._scores.gather(2, places))
        between = self._tokens.only_real_(self._transitions[places[:-1], places[1:]], first=1)
        score = chosen.sum(dim=0) + between.sum(dim=0)
        return (score - self._sums("log_partition").unsqueeze(1)).to(self._dtype)

    def _logarithms(self) -> "_Logarithms":
        return _Logarithms(self._scores, self._transitions, self._tokens)


def wide_type(values: torch.Tensor) -> torch.dtype:
    """Double precision; single precision on Apple's GPUs, which have no double precision."""
    return torch.float if values.device.type == "mps" else torch.double


class _Tokens:
    """The mask of real tokens of a batch, for values of shape `(tokens, batch, ...)`."""

    def __init__(self, scores: torch.Tensor, mask: Optional[torch.Tensor]) -> None:
        batch, tokens, _ = scores.shape
        #: The mask, `(tokens, batch, 1)`, or `None` if all tokens are real.
        self.real: Optional[torch.Tensor] = None
        #: The index of the last real token of each sequence, `(batch,)`.
        self.last = torch.full((batch,), tokens - 1, device=scores.device)
        if mask is not None and not bool(mask.all()):
            self.real, self.last = mask.t().unsqueeze(2), mask.sum(dim=1) - 1
            places = torch.arange(tokens, device=scores.device).unsqueeze(1)
            self._order = (self.last - places).clamp(min=0).unsqueeze(2)

    def reversed(self, values: torch.Tensor) -> torch.Tensor:
        """A copy with the real tokens of each sequence in reverse order; at padding, values of real tokens."""
        return values.flip(0) if self.real is None else values.gather(0, self._order.expand_as(values))

    def both_ways(self, values: torch.Tensor) -> torch.Tensor:
        """The values and the reversed values, `(tokens, 2, batch, ...)`."""
        return torch.stack([values, self.reversed(values)], dim=1)

    def only_real_(self, values: torch.Tensor, first: int = 0) -> torch.Tensor:
        """Sets values at padding to 0, in place; `values` begins with the token `first`."""
        return values if self.real is None else values.masked_fill_(~self.real[first:], 0)


class _Sweep:
    """
    The scaled forward and backward algorithm, with products of exponentials and without gradients: for each token and
    tag the sum over all prefixes that end in it, and over all suffixes that begin with it. The sums of a token are
    divided by the largest one; `log_partition` adds the logarithms of these scales.

    # Parameters

    scores, transitions, tokens
        As for `Chain`, with the tokens as the first dimension.
    ways : `int`
        1: forward. 2: forward and backward, which is forward on the reversed sequences.
    """

    def __init__(self, scores: torch.Tensor, transitions: torch.Tensor, tokens: _Tokens, ways: int) -> None:
        self.ways, self.tokens, self._scores = ways, tokens, scores
        self._most = scores.amax(dim=2, keepdim=True)
        self._top = transitions.amax()
        self._factors = (transitions - self._top).exp()
        self._by_way = torch.stack([self._factors, self._factors.t()][:ways])
        # The sums with the token's own score and without it. They are written in place, as allocating memory takes
        # longer than filling it. shape: (tokens, ways, batch, tags)
        self._with = self._powers()
        self._without = torch.empty_like(self._with)
        self._without[0] = 1
        self._scales = torch.ones_like(self._with[..., :1])
        tiny = torch.finfo(scores.dtype).tiny
        before = self._with[0]
        for t in range(1, len(scores)):
            value, scale = self._with[t], self._scales[t]
            value.mul_(torch.matmul(before, self._by_way, out=self._without[t]))
            torch.amax(value, dim=2, keepdim=True, out=scale)
            before = value.div_(scale.clamp_(min=tiny))
        self.is_exact = self._has_all_terms(transitions)

    def _powers(self) -> torch.Tensor:
        powers = self._scores.new_empty(len(self._scores), self.ways, *self._scores.shape[1:])
        torch.sub(self._scores, self._most, out=powers[:, 0]).exp_()
        if self.ways == 2:
            powers[:, 1] = self.tokens.reversed(powers[:, 0])
        return powers

    def _has_all_terms(self, transitions: torch.Tensor) -> bool:
        """Whether all products of two sums and a factor are large enough that no term of them has underflowed."""
        if not self._with.numel():
            return True
        least_factor = self._factors.masked_fill(transitions.isneginf(), 1).amin()
        limits = torch.finfo(self._with.dtype)
        least = limits.tiny / limits.eps / least_factor
        if bool(self._with.amin().square() > least):
            return True
        # Impossible tags have no term, and padding does not count.
        no_term = self._scores.isneginf()
        no_term = self.tokens.both_ways(no_term) if self.ways == 2 else no_term.unsqueeze(1)
        if self.tokens.real is not None:
            no_term = no_term | ~self.tokens.real.unsqueeze(1)
        return bool(self._with.masked_fill(no_term, 1).amin().square() > least)

    def weights(self, t: int, after: torch.Tensor) -> torch.Tensor:
        """
        The unnormalised probability of each tag at token `t`, given the tag after it, `after (batch, samples)`, which
        is the number of tags at the last token: `(batch, samples, tags)`.
        """
        return self._before[after].mul_(self._with[t, 0].unsqueeze(1))

    @cached_property
    def _before(self) -> torch.Tensor:
        return F.pad(self._factors.t(), (0, 0, 0, 1), value=1)

    def log_partition(self) -> torch.Tensor:
        rows = torch.arange(self._with.shape[2], device=self._with.device)
        shifts = self._scales[:, 0].log().add_(self._most)
        shifts[1:] += self._top
        sums = self._with[self.tokens.last, 0, rows].sum(dim=1)
        return sums.log() + self.tokens.only_real_(shifts).sum(dim=0).squeeze(1)

    def marginals(self) -> torch.Tensor:
        through = self.tokens.reversed(self._without[:, 1]).mul_(self._with[:, 0])
        return self.tokens.only_real_(through.div_(through.sum(dim=2, keepdim=True)))

    def log_partition_slopes(self, slope: torch.Tensor, pairs: bool) -> tuple[torch.Tensor, Optional[torch.Tensor]]:
        """
        The vector-Jacobian product of `log_partition` with `slope (batch,)`: for the scores, the marginals times the
        slope; with `pairs` also for the transitions, the expected counts of pairs of tags times the slope.
        """
        slope = slope.view(1, -1, 1)
        marginals = self.marginals().mul_(slope)
        if not pairs:
            return marginals, None
        after = self.tokens.reversed(self._with[:, 1])[1:]
        shares = slope / (self._without[1:, 0] * after).sum(dim=2, keepdim=True)
        return marginals, self._in_a_row(self._with[:-1, 0], after.mul_(self.tokens.only_real_(shares, first=1)))

    def marginals_slopes(self, slope: torch.Tensor, pairs: bool) -> tuple[torch.Tensor, Optional[torch.Tensor]]:
        """
        The vector-Jacobian product of `marginals` with `slope (tokens, batch, tags)`. As the Hessian of `log Z` is
        symmetric, it is the derivative of the marginals, and with `pairs` also of the expected counts of pairs, when
        the scores change in the direction of the slope.
        """
        tokens = self.tokens
        # The derivatives of the sums with the token's own score, and of those without it.
        of_with = tokens.both_ways(slope)
        tokens.only_real_(of_with[:, 0])
        of_with.mul_(self._with)
        of_without = torch.zeros_like(of_with)
        powers = self._powers().div_(self._scales)
        for t in range(1, len(powers)):
            of_with[t] += powers[t].mul_(torch.matmul(of_with[t - 1], self._by_way, out=of_without[t]))
        begun, of_begun = self._with[:, 0], of_with[:, 0]
        # The derivative of the marginals, which are normalised products.
        through = tokens.reversed(self._without[:, 1])
        total = (through * begun).sum(dim=2, keepdim=True)
        change = tokens.reversed(of_without[:, 1]).mul_(begun).addcmul_(through, of_begun).div_(total)
        share = change.sum(dim=2, keepdim=True) / total
        marginals = tokens.only_real_(change.sub_(through.mul_(begun).mul_(share)))
        if not pairs:
            return marginals, None
        after, of_after = (tokens.reversed(part[:, 1])[1:] for part in (self._with, of_with))
        total = (self._without[1:, 0] * after).sum(dim=2, keepdim=True)
        moved = (of_without[1:, 0] * after).addcmul_(self._without[1:, 0], of_after).sum(dim=2, keepdim=True)
        share = tokens.only_real_(total.reciprocal_(), first=1)
        of_after = of_after.mul_(share).sub_(after.mul_(share) * moved.mul_(share))
        return marginals, self._in_a_row(of_begun[:-1], after) + self._in_a_row(begun[:-1], of_after)

    def _in_a_row(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return self._factors * (one.flatten(0, 1).t() @ other.flatten(0, 1))


class _OfSweep(torch.autograd.Function):
    """`log_partition` or `marginals` of a sweep, with their gradients."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, transitions: torch.Tensor, sweep: _Sweep, what: str) -> Any:
        ctx.save_for_backward(scores, transitions)
        ctx.sweep, ctx.what = sweep, what
        return getattr(sweep, what)()

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> Any:
        needed = ctx.needs_input_grad[:2]
        if not torch.is_grad_enabled():
            return *getattr(ctx.sweep, f"{ctx.what}_slopes")(slope, needed[1]), None, None
        # Under `create_graph`: gradients with gradients.
        scores, transitions = ctx.saved_tensors
        value = getattr(_Logarithms(scores, transitions, ctx.sweep.tokens, by_products=True), ctx.what)()
        # Sequences of one token have no transitions.
        depends = needed[0], needed[1] and len(scores) > 1
        wanted = [part for part, is_used in zip((scores, transitions), depends) if is_used]
        found = list(torch.autograd.grad(value, wanted, slope, create_graph=True)) if wanted else []
        if needed[1] and not depends[1]:
            found.append(torch.zeros_like(transitions))
        gradients = iter(found)
        return *(next(gradients) if is_needed else None for is_needed in needed), None, None


class _Logarithms:
    """
    The forward and backward algorithm on logarithms, with autograd.

    # Parameters

    scores, transitions, tokens
        As for `Chain`, with the tokens as the first dimension.
    by_products : `bool`
        Whether a sum over the previous tag is a matrix product of exponentials, as in `_Sweep`. Otherwise it takes
        `tags^2` exponentials, and does not underflow.
    """

    def __init__(
        self, scores: torch.Tensor, transitions: torch.Tensor, tokens: _Tokens, by_products: bool = False
    ) -> None:
        self._scores, self._transitions, self._tokens = scores, transitions, tokens
        log_sum = (_log_products if by_products else _log_sum)(torch.stack([transitions, transitions.t()]))
        # `unbind`, as the gradient of each `tensor[t]` would be as large as the whole tensor.
        each = tokens.both_ways(scores).unbind()
        real = None if tokens.real is None else tokens.real.unbind()
        found = [each[0]]
        for t in range(1, len(each)):
            new = log_sum(found[-1]) + each[t]
            found.append(new if real is None else torch.where(real[t], new, found[-1]))
        self._sums = torch.stack(found)

    def weights(self, t: int, after: torch.Tensor) -> torch.Tensor:
        """As `_Sweep.weights`."""
        return (self._before[after] + self._sums[t, 0].unsqueeze(1)).softmax(dim=2)

    @cached_property
    def _before(self) -> torch.Tensor:
        return F.pad(self._transitions.t(), (0, 0, 0, 1))

    def log_partition(self) -> torch.Tensor:
        return self._sums[-1, 0].logsumexp(dim=1)

    def marginals(self) -> torch.Tensor:
        # Both sums include the score of the token itself.
        through = self._sums[:, 0] + self._tokens.reversed(self._sums[:, 1]) - self._scores
        # A softmax, in place of dividing by Z, makes them sum to 1 in spite of rounding.
        marginals = through.masked_fill(self._scores.isneginf(), -torch.inf).softmax(dim=2)
        return marginals if self._tokens.real is None else marginals * self._tokens.real


def _log_products(matrix: torch.Tensor) -> LogSum:
    """Returns a function that computes `log(exp(values) @ exp(matrix))` by one matrix product."""
    top = matrix.detach().amax()
    factors = (matrix - top).exp()
    tiny = torch.finfo(matrix.dtype).tiny

    def log_sum(values: torch.Tensor) -> torch.Tensor:
        most = values.detach().amax(dim=2, keepdim=True)
        return ((values - most).exp() @ factors).clamp(min=tiny).log() + most + top

    return log_sum


def _log_sum(matrix: torch.Tensor) -> LogSum:
    """The same function, with a shift for each sum, which does not underflow; a sum without a term is `-inf`."""

    def log_sum(values: torch.Tensor) -> torch.Tensor:
        terms = values.unsqueeze(3) + matrix.unsqueeze(1)
        most = terms.detach().amax(dim=2)
        most = most.masked_fill(most.isneginf(), 0)
        sums = (terms - most.unsqueeze(2)).exp().sum(dim=2)
        # The gradient of log(0) is NaN.
        return sums.masked_fill(sums == 0, 1).log().masked_fill(sums == 0, -torch.inf) + most

    return log_sum
