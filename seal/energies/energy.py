from typing import Any, Dict, Optional, Type

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError

from seal.output_spaces import OutputSpace


class Energy(torch.nn.Module, Registrable):
    """
    One term of the loss-net's energy `E_Theta(x, y)`. Low is good. The energy of a loss-net is the sum of its terms.

    A term works in two moves, so that everything that depends on the input alone is computed once a batch and
    shared by every candidate: `condition` looks at the input, `forward` at the outputs.

    # Parameters

    input_dim : `int`
        The size of the loss-net's hidden vectors. Given by the loss-net.
    output_space : `OutputSpace`
        Given by the model.
    """

    def condition(
        self,
        hidden: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        inputs: Optional[Dict[str, Any]] = None,
    ) -> Any:
        """
        What the term needs of the input, from `T_E(x)` or from the model's input tensors by name; `None` where it
        looks at the output alone.
        """
        return None

    def forward(
        self, condition: Any, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None
    ) -> torch.Tensor:
        """
        # Parameters

        condition : what `condition` returned.
        outputs : `torch.Tensor`, `(batch, samples, *output)`
            Relaxed or discrete candidates, as the output space defines them.
        mask : `torch.BoolTensor`, optional

        # Returns

        `torch.Tensor`, `(batch, samples)`
        """
        raise NotImplementedError


def check_output_space(name: str, output_space: OutputSpace, kind: Type[OutputSpace], what: str) -> None:
    """
    # Raises

    `ConfigurationError` unless the outputs are of the kind that the energy of this name is for: `what`, in words.
    """
    if not isinstance(output_space, kind):
        raise ConfigurationError(
            f"loss_net.energies: '{name}' is an energy of {what}; model.output_space is a "
            f"{type(output_space).__name__}."
        )
