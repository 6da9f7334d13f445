import math
from typing import Optional

import torch
from torch.nn import functional as F

from seal.common.precision import in_full_precision
from seal.common.setting_checks import check_range
from seal.energies.energy import Energy, check_output_space
from seal.output_spaces import LabelSet, OutputSpace


@Energy.register("log_partition")
class LogPartitionEnergy(Energy):
    """
    A learned estimate of the logarithm of the partition function, which reads the input alone:

        tau(x) = L log 2 (1 + v^T softplus(W T_E(x) + b) + a)

    for the other terms' `log Z(x) = log sum_y exp(-E(x, y))` over the `2^L` label sets (Sander, Roulet, Liu & Blondel
    2025, "Joint learning of energy-based models and their partition function"). With the energy loss `partition` it is
    learned beside these; then `exp(-E(x, y) - tau(x))` is the probability of `y`. `v` and `a` start at 0, which is
    exact where all sets have energy 0.

    # Parameters

    input_dim, output_space : given by the loss-net.
    hidden_dim : `int`, optional (default = `100`)
        The rows of `W`.

    # Raises

    `ConfigurationError` if the outputs are not label sets, or `hidden_dim` is below 1.
    """

    def __init__(self, input_dim: int, output_space: OutputSpace, hidden_dim: int = 100) -> None:
        super().__init__()
        check_output_space("log_partition", output_space, LabelSet, "label sets")
        check_range("loss_net.energies: hidden_dim of 'log_partition'", hidden_dim, least=1)
        self._log_number = output_space.num_labels * math.log(2)
        self.hidden = torch.nn.Linear(input_dim, hidden_dim)
        self.weights = torch.nn.Linear(hidden_dim, 1)
        torch.nn.init.zeros_(self.weights.weight)
        torch.nn.init.zeros_(self.weights.bias)

    def condition(self, hidden: torch.Tensor, mask=None, inputs=None) -> torch.Tensor:
        """`tau(x)`: `(batch, 1)`."""
        change = in_full_precision(self.weights, F.softplus(in_full_precision(self.hidden, hidden)))
        return self._log_number * (1 + change)

    def forward(
        self, condition: torch.Tensor, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        return condition.expand(outputs.shape[:2])
