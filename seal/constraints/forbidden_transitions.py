from typing import Optional

import torch

from seal.constraints.constraint import Constraint, Outputs, place_of
from seal.registry import ConfigurationError


@Constraint.register("forbidden_transitions")
class ForbiddenTransitions(Constraint):
    """
    Pairs of tags of which the second may not follow the first: `v(y) = sum_t sum_(a, b) y_{t-1, a} y_{t, b}`.

    # Parameters

    pairs : `list[tuple[str, str]]`
        Names of tags.
    name : as for `Constraint`

    # Raises

    `ConfigurationError` at the first output, if outputs are no tag sequences.
    """

    def __init__(self, pairs: list[tuple[str, str]], name: Optional[str] = None) -> None:
        self.pairs = [tuple(pair) for pair in pairs]
        for pair in self.pairs:
            if len(pair) != 2:
                raise ConfigurationError(f"constraints: 'forbidden_transitions' has pairs of tags, found {list(pair)}.")
        super().__init__(name)

    def default_name(self) -> str:
        return "_".join(["forbidden", *(f"{a}_{b}" for a, b in self.pairs[:2])])

    def forward(self, outputs: Outputs) -> torch.Tensor:
        tags, one_hot = outputs.tags, outputs.one_hot
        if tags is None or one_hot is None:
            raise ConfigurationError("constraints: 'forbidden_transitions' is for tag sequences.")
        before, after = ([place_of(tag, tags, "'forbidden_transitions'") for tag in pair] for pair in zip(*self.pairs))
        return (one_hot[:, :, :-1, before] * one_hot[:, :, 1:, after]).sum(dim=(-1, -2))
