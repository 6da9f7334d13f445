from typing import Optional

import torch

from seal.common.precision import without_autocast
from seal.common.setting_checks import check_range
from seal.constraints import Constraint, Declared
from seal.energies.energy import Energy
from seal.output_spaces import BinaryMask, OutputSpace, TagSequence
from seal.registry import ConfigurationError


@Energy.register("constraints")
class ConstraintsEnergy(Energy):
    """
    Declared rules as a term of the energy, with nothing to learn: `E(y) = weight * sum_c v_c(y)`, where the violation
    `v_c` is 0 exactly where a discrete output keeps the rule, and differentiable in a relaxed one.

    # Parameters

    input_dim, output_space : given by the loss-net.
    constraints : `list[Constraint]`
    weight : `float`, optional (default = `1.0`)
        In units of the energy, for each violation.

    # Raises

    `ConfigurationError` if outputs are masks, a rule names a label that is not there, or the weight is negative.
    """

    def __init__(
        self, input_dim: int, output_space: OutputSpace, constraints: list[Constraint], weight: float = 1.0
    ) -> None:
        super().__init__()
        check_range("energies.weight", weight, least=0)
        if isinstance(output_space, BinaryMask):
            raise ConfigurationError("loss_net.energies: 'constraints' are about labels and tags; masks have none.")
        sequences = isinstance(output_space, TagSequence)
        encoding = output_space.encoding if isinstance(output_space, TagSequence) else None
        self.declared = Declared(constraints, output_space.labels, sequences, encoding)
        self.weight = weight

    @without_autocast
    def forward(self, condition: None, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        return self.weight * self.declared(outputs, mask).sum(dim=-1)
