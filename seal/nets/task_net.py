from typing import Any, NamedTuple, Optional

import torch

from seal.common.precision import in_full_precision
from seal.nets.encoders import Encoder
from seal.output_spaces import OutputSpace, OverOutputs
from seal.registry import Registrable


class TaskNetOutput(NamedTuple):
    """
    # Parameters

    logits : `torch.Tensor`, `(batch, *structure)`
    hidden : `torch.Tensor`, `(batch, ..., size)`, optional
        The encoder's vectors, for further heads and for a loss-net that shares them.
    earlier : `torch.Tensor`, `(batch, steps, *structure)`, optional (default = `None`)
        Where a net finds its logits in steps and is trained: those of the steps before the last.
    """

    logits: torch.Tensor
    hidden: Optional[torch.Tensor]
    earlier: Optional[torch.Tensor] = None


class TaskNet(OverOutputs, Registrable):
    """
    The task-net `F_Phi(x) = G T_F(x)`: an encoder and a linear layer to logits (SEAL, NeurIPS 2022, section 4). The
    relaxation is the output space's. At prediction time nothing else runs.

    # Parameters

    encoder : `Encoder`
    output_space : `OutputSpace`
        Given by the model.
    dropout : `float`, optional (default = `0.0`)
        On the encoder's vectors.
    bias : `bool`, optional (default = `True`)
        Whether the linear layer has a bias. The papers' label embeddings `G` have none.
    pretrained_file : `str`, optional (default = `None`)
        A trained model's archive or folder. The weights start as those of its task-net, which must have the same
        shape.
    """

    default_implementation = "linear"

    def __init__(
        self,
        encoder: Encoder,
        output_space: OutputSpace,
        dropout: float = 0.0,
        bias: bool = True,
        pretrained_file: Optional[str] = None,
    ) -> None:
        super().__init__()
        self.pretrained_file = pretrained_file
        self.encoder = encoder
        self._dropout = torch.nn.Dropout(dropout)
        self._head = torch.nn.Linear(encoder.get_output_dim(), output_space.num_labels, bias=bias)

    def forward(self, inputs: dict[str, Any], mask: Optional[torch.Tensor] = None) -> TaskNetOutput:
        """
        # Parameters

        inputs : the model's input tensors.
        mask : `torch.BoolTensor`, `(batch, tokens)`, optional
            True at real tokens, for a net that reads its outputs as a whole; `None` where all instances have one size.
        """
        hidden = self._dropout(self.encoder(inputs))
        return TaskNetOutput(self.logits_of(hidden), hidden)

    def logits_of(self, hidden: torch.Tensor) -> torch.Tensor:
        """`(..., labels)` of the encoder's vectors `(..., size)`."""
        return in_full_precision(self._head, hidden)

    @property
    def label_weights(self) -> torch.Tensor:
        """`G`: `(labels, size)`."""
        return self._head.weight

    @property
    def label_bias(self) -> Optional[torch.Tensor]:
        """`(labels,)`; `None` without one."""
        return self._head.bias

    def last_layer_parameters(self) -> list[torch.nn.Parameter]:
        """
        Those of the linear layer. A subclass without it gives those of its own last layer, or an empty list if it has
        none.
        """
        head = getattr(self, "_head", None)
        return [] if head is None else list(head.parameters())

    def get_output_dim(self) -> int:
        """The size of `hidden`."""
        return self.encoder.get_output_dim()


TaskNet.register("linear")(TaskNet)
