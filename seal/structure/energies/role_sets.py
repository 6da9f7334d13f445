import torch
from torch import nn

from seal.common.setting_checks import needed
from seal.structure.joint_score import CandidateEnergy, LinearEnergy, has_gold
from seal.structure.tag_sequences import CompetingTags


@CandidateEnergy.register("role_sets")
class RoleSets(LinearEnergy[CompetingTags]):
    """
    `E(y) = -w log(1 + n(R(y))) + v [n(R(y)) = 0]`, where `R(y)` says how often each role occurs in `y`, and `n` how
    many training outputs have the same; an instance's own gold is left out.

    # Parameters

    num_roles : `int`
    """

    _codes_of_roles: torch.Tensor
    codes: torch.Tensor
    counts: torch.Tensor

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.unseen = nn.Parameter(torch.zeros(()))
        # A code for each set: the sum of a random number for every role that is there. Two sets have the same one with
        # a probability of 2^-62.
        generator = torch.Generator().manual_seed(0)
        codes = torch.randint(-(2**62), 2**62, (num_roles,), generator=generator)
        self.register_buffer("_codes_of_roles", codes, persistent=False)
        self.register_buffer("codes", torch.zeros(0, dtype=torch.long))
        self.register_buffer("counts", torch.zeros(0))

    def prepare(self, gold: CompetingTags) -> None:
        codes, counts = self._code(gold.role_counts[:, 0]).unique(return_counts=True)
        self.codes, self.counts = codes, counts.float()

    def _code(self, counts: torch.Tensor) -> torch.Tensor:
        return (counts * self._codes_of_roles).sum(dim=-1)

    def _seen(self, competing: CompetingTags) -> torch.Tensor:
        """`n(R(y))`, `(batch, candidates)`."""
        code = self._code(competing.role_counts)
        if len(self.codes) == 0:
            seen = torch.zeros_like(code, dtype=self.weight.dtype)
        else:
            place = torch.searchsorted(self.codes, code).clamp(max=len(self.codes) - 1)
            seen = torch.where(self.codes[place] == code, self.counts[place], 0.0)
        if competing.own:
            rows = has_gold(competing).nonzero().squeeze(1)
            mine = code[rows, needed(competing.gold, "gold")[rows]].unsqueeze(1)
            # Every candidate with the roles of gold has this instance among its count.
            seen = seen.index_put((rows,), (seen[rows] - (code[rows] == mine).to(seen)).clamp(min=0))
        return seen

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        seen = self._seen(competing)
        return -self.weight * seen.log1p() + self.unseen * (seen == 0)

    def entries(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        seen = self._seen(competing).flatten()
        row = torch.arange(len(seen), device=seen.device)
        values = torch.cat([-seen.log1p(), (seen == 0).to(seen)])
        # The weight is the first parameter, the cost of an unseen set the second.
        return row.repeat(2), torch.arange(2, device=row.device).repeat_interleave(len(row)), values
