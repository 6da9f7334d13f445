"""An energy of the task-net's marginals at the tokens of each span."""

import torch
from torch import nn

from seal.structure.joint_score import CandidateEnergy, Features, LinearEnergy
from seal.structure.tag_sequences import TagCandidates

_OF_SPAN, _OF_REST = 5, 2


@CandidateEnergy.register("token_scores")
class TokenScores(LinearEnergy[TagCandidates]):
    """
    `E(x, y) = -sum_spans (a_r mean z + b_r min z + c_r z_first + d_r z_last + e_r log n) - f sum z - g min(0, min z)`

    over the spans of `y`, with `n` tokens and the role `r`; the last two terms are over the tokens outside spans.
    `z_t = log p_t / (1 - p_t)` is the log-odds of the task-net's marginal `p_t` of the candidate's tag at token `t`.
    Marginals of different nets, such as those of folds, are comparable; their hidden vectors are not. Without marginals
    the energy is 0.

    # Parameters

    num_roles : `int`
    """

    reads_token_scores = True

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        self.of_role = nn.Parameter(torch.zeros(num_roles, _OF_SPAN))
        self.of_rest = nn.Parameter(torch.zeros(_OF_REST))

    def _values(self, candidates: TagCandidates) -> tuple[torch.Tensor, torch.Tensor]:
        """The values of the features: `(spans, 5)` of spans, and `(batch * candidates, 2)` of the other tokens."""
        log_p, mask, spans = candidates.token_log_prob, candidates.mask.unsqueeze(1), candidates.listed_spans
        assert log_p is not None
        # A marginal of 1 has no log-odds.
        z = log_p - (-torch.expm1(log_p.clamp(max=-1e-4))).log()
        # Sums and minima for each span. The last slot, of padding and tokens outside spans, is not read.
        place, shape = candidates.spans.of_tokens, candidates.spans.marked.shape
        sums = z.new_zeros(shape).scatter_add_(2, place, z).flatten(end_dim=1)
        least = z.new_full(shape, torch.inf).scatter_reduce_(2, place, z, reduce="amin").flatten(end_dim=1)
        z = z.flatten(end_dim=1)
        number = spans.last - spans.first + 1
        ends = z[spans.candidate, spans.first], z[spans.candidate, spans.last]
        other = (place != shape[2] - 1) | ~mask
        rest = z.masked_fill(other.flatten(end_dim=1), 0.0)
        at = spans.candidate, spans.place
        span_values = torch.stack([sums[at] / number, least[at], *ends, number.to(z).log()], dim=1)
        # The minimum counts a 0, in all sentences as in those with padding.
        return span_values, torch.stack([rest.sum(dim=1), rest.amin(dim=1).clamp(max=0)], dim=1)

    def features(self, candidates: TagCandidates) -> list[Features]:
        if candidates.token_log_prob is None:
            return []
        span_values, rest_values = self._values(candidates)
        spans, device = candidates.listed_spans, rest_values.device
        place = spans.role.unsqueeze(1) * _OF_SPAN + torch.arange(_OF_SPAN, device=device)
        rest_place = self.of_role.numel() + torch.arange(_OF_REST, device=device).expand(len(rest_values), -1)
        owner = torch.arange(len(span_values), device=device)
        return [Features(place, -span_values, spans.candidate, owner), Features(rest_place, -rest_values)]
