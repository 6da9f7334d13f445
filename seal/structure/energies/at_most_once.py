import torch

from seal.structure.joint_score import CandidateEnergy
from seal.structure.tag_sequences import CompetingTags

#: Nats that are shown for each role too many. What is chosen does not depend on them (`only_least_broken`).
COST = 1e4
#: The core roles of PropBank and CoNLL-2005, of which a predicate has each at most once.
CORE_ROLES = frozenset([f"{name}{n}" for name in ("ARG", "A") for n in range(6)] + ["ARGA", "AA"])


@CandidateEnergy.register("at_most_once")
class AtMostOnce(CandidateEnergy[CompetingTags]):
    """
    A declared constraint, with nothing to learn: each of some roles occurs at most once in an output,

    `E(y) = W sum_r max(n_r(y) - 1, 0)`, `W` without bound; 10,000 nats are shown.

    An output that breaks it is chosen only where all that compete do, and then one that breaks it least. Alone, with
    the decision `likeliest`, this is decoding with unique core roles among the best paths.

    # Parameters

    num_roles : `int`
    roles : `list[str]`, optional (default = `None`)
        The roles' names; `None`: the core roles of PropBank and CoNLL-2005.
    """

    rules_out = True

    def __init__(self, num_roles: int, roles: list[str] | None = None) -> None:
        super().__init__()
        self.roles = CORE_ROLES if roles is None else frozenset(roles)

    def forward(self, competing: CompetingTags) -> torch.Tensor:
        constrained = torch.tensor([role in self.roles for role in competing.scheme.roles])
        counts = competing.role_counts[..., constrained.to(competing.role_counts.device)]
        return COST * (counts - 1).clamp(min=0).sum(dim=-1).to(competing.log_prob.dtype)
