"""Energies of the roles, or types of spans, in an output, and of their order."""

import torch
from torch import nn
from torch.nn import functional as F

from seal.structure.joint_score import CandidateEnergy, Features, LinearEnergy
from seal.structure.serialization import from_bytes, to_bytes
from seal.structure.span_features import lookup
from seal.structure.tag_sequences import TagCandidates

#: The core roles of PropBank and CoNLL-2005. A predicate has each of them at most once.
CORE_ROLES = frozenset([f"{name}{n}" for name in ("ARG", "A") for n in range(6)] + ["ARGA", "AA"])


@CandidateEnergy.register("role_counts")
class RoleCounts(LinearEnergy[TagCandidates]):
    """
    `E(y) = sum_r u_{r, min(n_r(y), 2)}`, where `n_r(y)` is the number of spans with the role `r` in `y`: a cost for
    each role that is absent, one for a role that occurs once, and one for a role that occurs more often.

    # Parameters

    num_roles : `int`
    """

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        self.cost = nn.Parameter(torch.zeros(num_roles, 3))

    def features(self, candidates: TagCandidates) -> list[Features]:
        counts = candidates.role_counts.clamp(max=2).flatten(end_dim=1)
        return [Features(counts + 3 * torch.arange(counts.shape[1], device=counts.device))]


@CandidateEnergy.register("role_ngrams")
class RoleNgrams(LinearEnergy[TagCandidates]):
    """
    `E(y) = sum_m t_{r_{m-1}, r_m}` over the roles `r_1, r_2, ...` of `y` from left to right, with a boundary mark
    before the first and after the last. A frame's predicate is one of the roles (`V`).

    # Parameters

    num_roles : `int`
    """

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        # One row more for the mark.
        self.cost = nn.Parameter(torch.zeros(num_roles + 1, num_roles + 1))

    def features(self, candidates: TagCandidates) -> list[Features]:
        roles = candidates.spans.marked.flatten(end_dim=1)
        pairs = roles[:, :-1] * self.cost.shape[0] + roles[:, 1:]
        # The index of fillers is that of the mark. A pair of two marks has the value 0.
        return [Features(pairs, (pairs < self.cost.numel() - 1).float())]


@CandidateEnergy.register("role_trigrams")
class RoleTrigrams(LinearEnergy[TagCandidates]):
    """
    `E(y) = sum_m t_{r_{m-2}, r_{m-1}, r_m}` over the roles (without an encoding, the tags) of `y` from left to right,
    with boundary marks before the first and after the last.

    # Parameters

    num_roles : `int`
    """

    def __init__(self, num_roles: int) -> None:
        super().__init__()
        self.cost = nn.Parameter(torch.zeros(num_roles + 1, num_roles + 1, num_roles + 1))

    def features(self, candidates: TagCandidates) -> list[Features]:
        size = self.cost.shape[0]
        padded = F.pad(candidates.spans.marked, (1, 0), value=size - 1).flatten(end_dim=1)
        pairs = padded[:, 1:-1] * size + padded[:, 2:]
        # A trigram that ends in two marks has the value 0.
        return [Features(padded[:, :-2] * size * size + pairs, (pairs < size * size - 1).float())]


@CandidateEnergy.register("role_sets")
class RoleSets(LinearEnergy[TagCandidates]):
    """
    `E(y) = -w log(1 + n(R(y))) + v [n(R(y)) = 0]`, where `R(y)` is the multiset of roles in `y`, and `n` the number of
    training outputs with the same multiset. It excludes the instance's group of equal inputs.

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
        # The code of a multiset is the sum of a random number for each of its roles. Two multisets have the same code
        # with a probability of 2^-62.
        generator = torch.Generator().manual_seed(0)
        codes = torch.randint(-(2**62), 2**62, (num_roles,), generator=generator)
        self.register_buffer("_codes_of_roles", codes, persistent=False)
        self.register_buffer("codes", torch.zeros(0, dtype=torch.long))
        self.register_buffer("counts", torch.zeros(0))

    def prepare(self, gold: TagCandidates) -> None:
        codes, counts = self._code(gold.role_counts[:, 0]).unique(return_counts=True)
        self.codes, self.counts = codes, counts.float()

    def _code(self, counts: torch.Tensor) -> torch.Tensor:
        return (counts * self._codes_of_roles).sum(dim=-1)

    def _seen(self, candidates: TagCandidates) -> torch.Tensor:
        """`n(R(y))`, `(batch, candidates)`."""
        code = self._code(candidates.role_counts)
        seen = lookup(self.codes, self.counts, code)
        if candidates.excluded is not None:
            gold = self._code(candidates.excluded.gold.role_counts[:, 0])
            gold_rows = torch.arange(len(gold), device=code.device)
            rows = torch.arange(len(code), device=code.device).unsqueeze(1)
            seen = (seen - candidates.excluded.counts(gold, gold_rows, code, rows)).clamp(min=0)
        return seen

    def features(self, candidates: TagCandidates) -> list[Features]:
        seen = self._seen(candidates).flatten()
        # The weight is the first parameter, the cost of an unseen set the second.
        place = torch.arange(2, device=seen.device).expand(len(seen), -1)
        return [Features(place, torch.stack([-seen.log1p(), (seen == 0).to(seen)], dim=1))]


@CandidateEnergy.register("key_roles")
class KeyRoles(LinearEnergy[TagCandidates]):
    """
    The roles that a predicate has in the training data:

    `E(x, y) = -sum_r (w + w_r) [r in y ? log p_kr : log(1 - p_kr)]` with `p_kr = (n_kr + c p_r) / (n_k + c)`.

    `k` is the key (the predicate's lemma or word), `n_k` the number of training outputs with this key, `n_kr` the
    number of these that have the role `r`, and `p_r` the share of all training outputs that have it. `n_k` and `n_kr`
    leave out an instance's group of equal inputs.

    # Parameters

    num_roles : `int`
    shrinkage : `float`, optional (default = `4.0`)
        `c`, above 0: the number of outputs for which `p_r` counts.
    """

    with_role: torch.Tensor
    outputs: torch.Tensor

    def __init__(self, num_roles: int, shrinkage: float = 4.0) -> None:
        super().__init__()
        self.shrinkage = shrinkage
        self.weight = nn.Parameter(torch.zeros(()))
        self.of_role = nn.Parameter(torch.zeros(num_roles))
        # The last row is for keys that the training data do not have.
        self.register_buffer("with_role", torch.zeros(1, num_roles))
        self.register_buffer("outputs", torch.zeros(1))
        self._rows: dict[str, int] = {}

    def get_extra_state(self) -> torch.Tensor:
        return to_bytes(list(self._rows))

    def set_extra_state(self, state: torch.Tensor) -> None:
        self._rows = {name: row for row, name in enumerate(from_bytes(state))}

    def prepare(self, gold: TagCandidates) -> None:
        self._rows = {key: row for row, key in enumerate(sorted(set(gold.keys)))}
        rows = self._rows_of(gold.keys, gold.tags.device)
        present = (gold.role_counts[:, 0] > 0).float()
        size = len(self._rows) + 1
        self.with_role = torch.zeros(size, present.shape[1]).index_add(0, rows, present)
        self.outputs = torch.zeros(size).index_add(0, rows, torch.ones(len(rows)))

    def _rows_of(self, keys: list[str], device: torch.device) -> torch.Tensor:
        """The row of each key in the tables, `(keys,)`."""
        return torch.tensor([self._rows.get(key, len(self._rows)) for key in keys], device=device, dtype=torch.long)

    def _shares(self, candidates: TagCandidates) -> torch.Tensor:
        """`p_kr` of each instance, `(batch, roles)`."""
        rows = self._rows_of(candidates.keys, candidates.tags.device)
        share = (self.with_role.sum(dim=0) + 0.5) / (self.outputs.sum() + 1)
        with_role, outputs = self.with_role[rows], self.outputs[rows].unsqueeze(1)
        if candidates.excluded is not None:
            excluded, size = candidates.excluded, len(self.outputs)
            # Sums over the gold of each pair of a group and a key.
            gold_rows = self._rows_of(excluded.gold.keys, rows.device)
            pairs = torch.cat([excluded.group * size + rows, excluded.group_of_gold * size + gold_rows])
            number = pairs.unique(return_inverse=True)[1]
            pair, gold_pair = number[: len(rows)], number[len(rows) :]
            in_gold = (excluded.gold.role_counts[:, 0] > 0).to(with_role)
            left_out = with_role.new_zeros(len(pairs), in_gold.shape[1]).index_add(0, gold_pair, in_gold)
            with_role = with_role - left_out[pair]
            outputs = outputs - gold_pair.bincount(minlength=len(pairs))[pair].to(outputs).unsqueeze(1)
        return ((with_role + self.shrinkage * share) / (outputs + self.shrinkage)).clamp(1e-4, 1 - 1e-4)

    def features(self, candidates: TagCandidates) -> list[Features]:
        present, p = candidates.role_counts > 0, self._shares(candidates).unsqueeze(1)
        logs = torch.where(present, p.log(), (1 - p).log()).flatten(end_dim=1)
        # The weight is the first parameter, those of the roles follow.
        place = torch.arange(1 + logs.shape[1], device=logs.device).expand(len(logs), -1)
        return [Features(place, -torch.cat([logs.sum(dim=1, keepdim=True), logs], dim=1))]
