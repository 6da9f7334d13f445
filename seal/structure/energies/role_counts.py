import torch
from torch import nn

from seal.structure.joint_score import CandidateEnergy, LinearEnergy
from seal.structure.tag_sequences import CompetingTags


@CandidateEnergy.register("role_counts")
class RoleCounts(LinearEnergy[CompetingTags]):
    """
    `E(y) = sum_r u_{r, min(n_r(y), 2)}`, where `n_r` is how often the role `r` occurs in `y`: what it costs that a role
    is absent, is there once, or more than once.

    # Parameters

    num_roles : `int`
    """

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        self.cost = nn.Parameter(torch.zeros(num_roles, 3))

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        counts = competing.role_counts.clamp(max=2)
        places = counts + 3 * torch.arange(counts.shape[-1], device=counts.device)
        return self.cost.flatten().index_select(0, places.flatten()).view(counts.shape).sum(dim=-1)

    def entries(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        counts = competing.role_counts.clamp(max=2).flatten(end_dim=1)
        # A role that is there, in place of one that is absent.
        row, role = counts.nonzero(as_tuple=True)
        one = torch.ones(len(row), device=row.device)
        return row.repeat(2), torch.cat([3 * role + counts[row, role], 3 * role]), torch.cat([one, -one])
