from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn

from seal.registry import ConfigurationError, Registrable


@dataclass
class Outputs:
    """
    Outputs as a constraint sees them.

    # Parameters

    names : `dict[str, int]`
        What is counted, and its place: labels; of tags that encode spans, the labels of spans (roles, kinds of entity).
    counts : `torch.Tensor`, `(batch, samples, names)`
        How often each occurs: of a label set 0 or 1, or its probability; of spans, how many begin.
    tags : `dict[str, int]`, optional
        The names of the tags and their places, where outputs are sequences of them.
    one_hot : `torch.Tensor`, `(batch, samples, tokens, tags)`, optional
        Their probabilities or, of discrete outputs, 0 and 1; 0 at padding.
    """

    names: dict[str, int]
    counts: torch.Tensor
    tags: Optional[dict[str, int]] = None
    one_hot: Optional[torch.Tensor] = None

    def columns(self, names: Sequence[str], what: str) -> list[int]:
        """
        The places of `names`.

        # Raises

        `ConfigurationError` if one is not among those that are counted.
        """
        return [place_of(name, self.names, what) for name in names]


class Constraint(nn.Module, Registrable):
    """
    A rule about an output. Its violation is 0 exactly where a discrete output keeps it, a whole number where not, and
    differentiable in a relaxed output.

    # Parameters

    name : `str`, optional
        What reports call it.
    """

    def __init__(self, name: Optional[str]) -> None:
        super().__init__()
        self.name = name or self.default_name()

    def default_name(self) -> str:
        """Its name where none is given."""
        raise NotImplementedError

    def forward(self, outputs: Outputs) -> torch.Tensor:
        """How far each output breaks the rule: `(batch, samples)`, at least 0."""
        raise NotImplementedError


def place_of(name: str, names: dict[str, int], what: str) -> int:
    if name not in names:
        some = ", ".join(sorted(names)[:8]) + (", ..." if len(names) > 8 else "")
        raise ConfigurationError(f"constraints: {what} names '{name}', which no output has; there are {some}.")
    return names[name]
