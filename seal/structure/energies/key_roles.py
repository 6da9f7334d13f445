import json

import torch
from torch import nn

from seal.common.setting_checks import needed
from seal.structure.joint_score import CandidateEnergy, LinearEnergy, has_gold
from seal.structure.tag_sequences import CompetingTags


@CandidateEnergy.register("key_roles")
class KeyRoles(LinearEnergy[CompetingTags]):
    """
    Which roles a predicate has: with the key `k` (the predicate's lemma or word) seen in `n_k` training outputs, `n_kr`
    of which have the role `r`, the probability of the role is estimated by shrinkage towards its share `p_r` in all
    outputs,

    `p_kr = (n_kr + c p_r) / (n_k + c)`,

    and `E(x, y) = -sum_r (w + w_r) [r in y ? log p_kr : log(1 - p_kr)]`. An instance's own gold is left out of the
    counts.

    # Parameters

    num_roles : `int`
    shrinkage : `float`, optional (default = `4.0`)
        `c`, above 0: the weight of all outputs, in outputs.
    """

    with_role: torch.Tensor
    outputs: torch.Tensor

    def __init__(self, num_roles: int, shrinkage: float = 4.0) -> None:
        super().__init__()
        self.shrinkage = shrinkage
        self.weight = nn.Parameter(torch.zeros(()))
        self.of_role = nn.Parameter(torch.zeros(num_roles))
        # The last row is for keys that training does not have.
        self.register_buffer("with_role", torch.zeros(1, num_roles))
        self.register_buffer("outputs", torch.zeros(1))
        self._rows: dict[str, int] = {}

    def get_extra_state(self) -> torch.Tensor:
        return torch.tensor(list(json.dumps(list(self._rows)).encode()), dtype=torch.uint8)

    def set_extra_state(self, state: torch.Tensor) -> None:
        names = json.loads(bytes(state.tolist()).decode())
        self._rows = {name: row for row, name in enumerate(names)}

    def prepare(self, gold: CompetingTags) -> None:
        self._rows = {key: row for row, key in enumerate(sorted(set(gold.keys)))}
        rows = self._of(gold.keys, gold.tags.device)
        present = (gold.role_counts[:, 0] > 0).float()
        size = len(self._rows) + 1
        self.with_role = torch.zeros(size, present.shape[1]).index_add(0, rows, present)
        self.outputs = torch.zeros(size).index_add(0, rows, torch.ones(len(rows)))

    def _of(self, keys: list[str], device: torch.device) -> torch.Tensor:
        return torch.tensor([self._rows.get(key, len(self._rows)) for key in keys], device=device, dtype=torch.long)

    def _shares(self, competing: CompetingTags, present: torch.Tensor) -> torch.Tensor:
        """`p_kr` of each instance, `(batch, roles)`; `present`, `(batch, candidates, roles)`."""
        rows = self._of(competing.keys, present.device)
        share = (self.with_role.sum(dim=0) + 0.5) / (self.outputs.sum() + 1)
        with_role, outputs = self.with_role[rows], self.outputs[rows].unsqueeze(1)
        if competing.own:
            known = has_gold(competing).unsqueeze(1)
            gold = present[torch.arange(len(rows)), needed(competing.gold, "gold").clamp(min=0)]
            with_role = with_role - (gold & known).to(with_role)
            outputs = outputs - known.to(outputs)
        return ((with_role + self.shrinkage * share) / (outputs + self.shrinkage)).clamp(1e-4, 1 - 1e-4)

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        present = competing.role_counts > 0
        p = self._shares(competing, present).unsqueeze(1)
        return -(torch.where(present, p.log(), (1 - p).log()) @ (self.weight + self.of_role))

    def entries(self, competing: CompetingTags) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        present = competing.role_counts > 0
        p = self._shares(competing, present)
        # What a role that is there adds to all roles being absent.
        row, role = present.flatten(end_dim=1).nonzero(as_tuple=True)
        value = -p.logit()[row // present.shape[1], role]
        # The weight is the first parameter, those of the roles follow.
        return row.repeat(2), torch.cat([torch.zeros_like(role), role + 1]), value.repeat(2)
