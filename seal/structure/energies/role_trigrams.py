import torch
from torch import nn
from torch.nn import functional as F

from seal.structure.joint_score import CandidateEnergy
from seal.structure.tag_sequences import CompetingTags


@CandidateEnergy.register("role_trigrams")
class RoleTrigrams(CandidateEnergy[CompetingTags]):
    """
    `E(y) = sum_m t_{r_{m-2}, r_{m-1}, r_m}` over the roles (or, without an encoding, the tags) of `y` from left to
    right, with marks before the first and after the last: one step further than a linear chain sees.

    # Parameters

    num_roles : `int`
    """

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        self.cost = nn.Parameter(torch.zeros(num_roles + 1, num_roles + 1, num_roles + 1))

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        roles = competing.spans.roles
        size = self.cost.shape[0]
        mark = size - 1
        padded = F.pad(roles.masked_fill(roles < 0, mark), (2, 1), value=mark)
        first, second, third = padded[..., :-2], padded[..., 1:-1], padded[..., 2:]
        real = (second != mark) | (third != mark)
        places = (first * size + second) * size + third
        cost = self.cost.flatten().index_select(0, places.flatten()).view(places.shape)
        return (cost * real).sum(dim=-1)
