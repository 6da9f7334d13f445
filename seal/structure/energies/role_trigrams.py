import torch
from torch import nn
from torch.nn import functional as F

from seal.structure.joint_score import CandidateEnergy, LinearEnergy
from seal.structure.tag_sequences import CompetingTags


@CandidateEnergy.register("role_trigrams")
class RoleTrigrams(LinearEnergy[CompetingTags]):
    """
    `E(y) = sum_m t_{r_{m-2}, r_{m-1}, r_m}` over the roles (or, without an encoding, the tags) of `y` from left to
    right, with marks before the first and after the last: one step further than a linear chain sees.

    # Parameters

    num_roles : `int`
    """

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        self.cost = nn.Parameter(torch.zeros(num_roles + 1, num_roles + 1, num_roles + 1))

    def _triples(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor]:
        """The place of each triple among the costs, and whether it is one, each `(batch, candidates, triples)`."""
        size = self.cost.shape[0]
        padded = F.pad(competing.spans.marked, (1, 0), value=size - 1)
        pairs = padded[..., 1:-1] * size + padded[..., 2:]
        # None where two marks follow.
        return padded[..., :-2] * size * size + pairs, pairs < size * size - 1

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        places, real = self._triples(competing)
        cost = self.cost.flatten().index_select(0, places.flatten()).view(places.shape)
        return (cost * real).sum(dim=-1)

    def entries(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        column, real = (values.flatten(end_dim=1) for values in self._triples(competing))
        row, place = real.nonzero(as_tuple=True)
        return row, column[row, place], torch.ones(len(row), device=row.device)
