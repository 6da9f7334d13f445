from typing import Optional

import torch

from seal.common.precision import in_full_precision
from seal.energies.energy import Energy
from seal.output_spaces import OutputSpace


@Energy.register("local")
class LocalEnergy(Energy):
    """
    The local energy `E_local(x, y) = sum_i y_i b_i^T T_E(x)` (SEAL, NeurIPS 2022, Eq. 2, first term). For tag
    sequences the sum runs over tokens as well: `sum_t y_t^T B T_E(x)_t`. It is linear in `y`, so a set of candidates
    costs one product.

    There is no bias: the parameter counts that the authors print leave no place for one.

    # Parameters

    input_dim, output_space : given by the loss-net.
    """

    def __init__(self, input_dim: int, output_space: OutputSpace) -> None:
        super().__init__()
        self.output_space = output_space
        self.label_embeddings = torch.nn.Linear(input_dim, output_space.num_labels, bias=False)

    def condition(self, hidden: torch.Tensor, mask=None, inputs=None) -> torch.Tensor:
        return in_full_precision(self.label_embeddings, hidden)

    def forward(
        self, condition: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        return self.output_space.inner(condition, outputs, mask)
