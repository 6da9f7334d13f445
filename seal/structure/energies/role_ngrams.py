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

    def _pairs(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The left and the right role of each pair, and whether it is one, each `(batch, candidates, pairs)`."""
        roles = competing.spans.roles
        mark = self.cost.shape[0] - 1
        # Fillers come last, as the mark does.
        padded = F.pad(roles.masked_fill(roles < 0, mark), (1, 1), value=mark)
        left, right = padded[..., :-1], padded[..., 1:]
        # Not between two fillers; but an output without a span has one pair, of two marks.
        return left, right, (left != mark) | (right != mark)

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        left, right, real = self._pairs(competing)
        return (self.cost[left, right] * real).sum(dim=-1)

    def entries(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        left, right, real = self._pairs(competing)
        column = (left * self.cost.shape[1] + right).flatten(end_dim=1)
        row, place = real.flatten(end_dim=1).nonzero(as_tuple=True)
        return row, column[row, place], torch.ones(len(row), device=row.device)
