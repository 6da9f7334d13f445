import torch
from torch import nn
from torch.nn import functional as F

from seal.structure.joint_score import CandidateEnergy, LinearEnergy
from seal.structure.tag_sequences import CompetingTags


@CandidateEnergy.register("role_ngrams")
class RoleNgrams(LinearEnergy[CompetingTags]):
    """
    `E(y) = sum_m t_{r_{m-1}, r_m}` over the roles `r_1, r_2, ...` of `y` from left to right, with a mark before the
    first and after the last. A frame's predicate is one of them (`V`), so that a role knows on which side of it it
    stands.

    # Parameters

    num_roles : `int`
    """

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        # One row more for the mark.
        self.cost = nn.Parameter(torch.zeros(num_roles + 1, num_roles + 1))

    def _pairs(self, competing: CompetingTags) -> torch.Tensor:
        """The place of each pair among the costs, `(batch, candidates, pairs)`; fillers are the mark, and come last."""
        roles = competing.spans.marked
        return roles[..., :-1] * self.cost.shape[0] + roles[..., 1:]

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        pairs = self._pairs(competing)
        # Nothing between two fillers.
        cost = F.pad(self.cost.flatten()[:-1], (0, 1))
        return cost.index_select(0, pairs.flatten()).view(pairs.shape).sum(dim=-1)

    def entries(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        pairs = self._pairs(competing).flatten(end_dim=1)
        row, place = (pairs < self.cost.numel() - 1).nonzero(as_tuple=True)
        return row, pairs[row, place], torch.ones(len(row), device=row.device)
