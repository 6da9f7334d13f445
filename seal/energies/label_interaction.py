from typing import Optional

import torch
from torch.nn import functional as F

from seal.common.precision import without_autocast
from seal.common.setting_checks import check_range
from seal.energies.energy import Energy, check_output_space
from seal.output_spaces import LabelSet, OutputSpace


@Energy.register("label_interaction")
class LabelInteractionEnergy(Energy):
    """
    The global energy of label sets, `E_global(y) = v^T softplus(M y + c)` (SEAL, NeurIPS 2022, Eq. 2, second
    term). It reads the labels alone; each of the `m` rows of `M` is a pattern of labels that are likely or,
    where its `v` is positive, unlikely together.

    With the bias `c` there are `m (L + 2)` parameters, as in the counts that the authors print; their equation
    shows no `c`.

    # Parameters

    input_dim, output_space : given by the loss-net.
    hidden_dim : `int`
        `m`, the number of patterns.
    bias : `bool`, optional (default = `True`)
        Whether there is a `c`.

    # Raises

    `ConfigurationError` if the outputs are not label sets, or `hidden_dim` is below 1.
    """

    def __init__(self, input_dim: int, output_space: OutputSpace, hidden_dim: int, bias: bool = True) -> None:
        super().__init__()
        check_output_space("label_interaction", output_space, LabelSet, "label sets")
        check_range("loss_net.energies: hidden_dim of 'label_interaction'", hidden_dim, least=1)
        self.patterns = torch.nn.Linear(output_space.num_labels, hidden_dim, bias=bias)
        self.weights = torch.nn.Linear(hidden_dim, 1, bias=False)

    @without_autocast
    def forward(self, condition: None, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        # Gold may be integer.
        outputs = outputs.to(self.patterns.weight.dtype)
        return self.weights(F.softplus(self.patterns(outputs))).squeeze(-1)
