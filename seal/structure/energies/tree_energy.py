import json

import torch
from torch import nn

from seal.structure.joint_score import CandidateEnergy
from seal.structure.trees import CompetingTrees


class TreeEnergy(CandidateEnergy):
    """
    The base of energies of trees that are linear in a few counts, `E(x, y) = sum_i w_i f_i(x, y)`. The counts of
    candidates are taken once, however often the weights change.

    # Parameters

    num_features : `int`
    """

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(num_features))

    def features(self, competing: CompetingTrees, row: int) -> list[list[float]]:
        """`f(x, y)` of each candidate of one sentence."""
        raise NotImplementedError

    def forward(self, competing: CompetingTrees) -> torch.Tensor:
        if self not in competing.counted:
            counted = torch.zeros(*competing.log_prob.shape, len(self.weight))
            for row, candidates in enumerate(competing.trees):
                if not candidates:
                    continue
                counted[row, : len(candidates)] = torch.tensor(self.features(competing, row))
            competing.counted[self] = counted
        counted = competing.counted[self] = competing.counted[self].to(self.weight)
        return counted @ self.weight


class CountedTreeEnergy(TreeEnergy):
    """One that needs tables of what training trees have: `tables`, a dictionary of strings and numbers."""

    tables: dict

    def get_extra_state(self) -> torch.Tensor:
        return torch.tensor(list(json.dumps(self.tables).encode()), dtype=torch.uint8)

    def set_extra_state(self, state: torch.Tensor) -> None:
        self.tables = json.loads(bytes(state.tolist()).decode())
