from typing import Any, Optional, TypeVar

import torch

from seal.output_spaces import OutputSpace, OverOutputs
from seal.registry import ConfigurationError, Registrable

Space = TypeVar("Space", bound=OutputSpace)


class Energy(OverOutputs, Registrable):
    """
    One term of the loss-net's energy `E_Theta(x, y)`. Low is good. The energy of a loss-net is the sum of its terms.

    A term works in two steps, so that everything that depends on the input alone is computed once a batch and
    shared by every candidate: `condition` reads the input, `forward` the outputs.

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
        inputs: Optional[dict[str, Any]] = None,
    ) -> Any:
        """
        Computes what the term needs of the input.

        # Parameters

        hidden : `torch.Tensor`
            `T_E(x)`: `(batch, input_dim)` for label sets, `(batch, tokens, input_dim)` for tag sequences,
            `(batch, H, W, input_dim)` for masks.
        mask : `torch.BoolTensor`, optional
            `(batch, tokens)`, True at real tokens; `None` where all instances have one size.
        inputs : `dict[str, Any]`, optional
            The model's input tensors by name.

        # Returns

        What `forward` is given as `condition`; `None` where the term reads the output alone.
        """
        return None

    def forward(self, condition: Any, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """
        The energy of each candidate.

        # Parameters

        condition : what `condition` returned.
        outputs : `torch.Tensor`, `(batch, samples, *output)`
            Relaxed or discrete candidates, as the output space defines them.
        mask : `torch.BoolTensor`, optional
            `(batch, tokens)`, True at real tokens; `None` where all instances have one size.

        # Returns

        `torch.Tensor`, `(batch, samples)`
        """
        raise NotImplementedError


def check_output_space(name: str, output_space: OutputSpace, kind: type[Space], what: str) -> Space:
    """
    The output space, which is of the kind that the energy called `name` is for.

    # Raises

    `ConfigurationError` if they are not; it describes the kind by `what`.
    """
    if not isinstance(output_space, kind):
        raise ConfigurationError(
            f"loss_net.energies: '{name}' is an energy of {what}; the output_space is a {type(output_space).__name__}."
        )
    return output_space
