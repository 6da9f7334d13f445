from typing import Optional, Union

import torch

from seal.constraints.constraint import Constraint, Outputs


@Constraint.register("implication")
class Implication(Constraint):
    """
    An output with one label has another one too, such as a label's parent in a taxonomy:

    `v(y) = sum_(a, b) max(min(n_a(y), 1) - n_b(y), 0)`,

    with the Lukasiewicz form of the implication where outputs are relaxed.

    # Parameters

    implies : `dict[str, Union[str, list[str]]]`
        For a label those that must come with it.
    name : as for `Constraint`
    """

    def __init__(self, implies: dict[str, Union[str, list[str]]], name: Optional[str] = None) -> None:
        self.implies = dict(implies)
        self.pairs = [(a, b) for a, all_b in implies.items() for b in ([all_b] if isinstance(all_b, str) else all_b)]
        super().__init__(name)

    def default_name(self) -> str:
        return "_".join(["implication", *(f"{a}_{b}" for a, b in self.pairs[:2])])

    def forward(self, outputs: Outputs) -> torch.Tensor:
        causes, effects = (outputs.columns(names, "'implication'") for names in zip(*self.pairs))
        counts = outputs.counts
        return (counts[..., causes].clamp(max=1) - counts[..., effects]).clamp(min=0).sum(dim=-1)
