"""
Cost-augmented inference networks: the loss-net learns from their outputs in training, beside the task-net's.
"""

from typing import Any, Optional

import torch

from seal.common.precision import in_full_precision
from seal.nets.encoders import Encoder
from seal.nets.task_and_loss_net import TaskNet, TaskNetOutput
from seal.output_spaces import OutputSpace, OverOutputs
from seal.registry import Registrable


class CostAugmentedNet(OverOutputs, Registrable):
    """
    `F^c_Phi(x)`, which looks for the output that the margin loss must push up, `argmin_y E(x, y) - Delta(y, gold)`
    (Tu, Pang & Gimpel 2020, Eq. 3). The task-net beside it is the test-time network `A_Psi` and looks for
    `argmin_y E(x, y)`. The cost-augmented network is trained with the task-net, by the task loss `inference_network`;
    no prediction needs it.

    # Parameters

    output_space : `OutputSpace`
    task_net_dim : `int`
        The size of the task-net's vectors. Both are given by the model.
    pretrained_file : `str`, optional (default = `None`)
        A trained model's archive or folder. The weights start as those of its cost-augmented network, which must have
        the same shape.
    """

    #: Whether it reads the task-net's output as a constant.
    takes_constants: bool = False

    def __init__(self, pretrained_file: Optional[str] = None) -> None:
        super().__init__()
        self.pretrained_file = pretrained_file

    def forward(
        self,
        inputs: dict[str, Any],
        task_net: TaskNetOutput,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        # Parameters

        inputs : the model's input tensors.
        task_net : `TaskNetOutput`
            The task-net's output, with its graph.
        gold : `torch.Tensor`, `(batch, *output)`
        mask : `torch.BoolTensor`, optional
            `(batch, tokens)`, True at real tokens; `None` where all instances have one size.

        # Returns

        `torch.Tensor`, `(batch, *structure)`: logits.
        """
        raise NotImplementedError


@CostAugmentedNet.register("separated")
class SeparatedNet(CostAugmentedNet):
    """
    A separate network, which shares nothing with the task-net (Tu, Pang & Gimpel 2020, section 3.1).

    # Parameters

    encoder : `Encoder`
    output_space, task_net_dim : given by the model.
    dropout : `float`, optional (default = `0.0`)
    bias : `bool`, optional (default = `True`)
        As in `TaskNet`.
    pretrained_file : `str`, optional (default = `None`)
        As in `CostAugmentedNet`.
    """

    def __init__(
        self,
        encoder: Encoder,
        output_space: OutputSpace,
        task_net_dim: int,
        dropout: float = 0.0,
        bias: bool = True,
        pretrained_file: Optional[str] = None,
    ) -> None:
        super().__init__(pretrained_file)
        self.net = TaskNet(encoder, output_space, dropout, bias)

    def forward(self, inputs, task_net, gold, mask=None):
        return self.net(inputs).logits


@CostAugmentedNet.register("shared")
class SharedNet(CostAugmentedNet):
    """
    An output layer of its own on the task-net's vectors; both losses train the encoder below (Tu, Pang & Gimpel 2020,
    section 3.1).

    # Parameters

    output_space, task_net_dim : given by the model.
    bias : `bool`, optional (default = `True`)
    pretrained_file : `str`, optional (default = `None`)
        As in `CostAugmentedNet`.
    """

    def __init__(
        self,
        output_space: OutputSpace,
        task_net_dim: int,
        bias: bool = True,
        pretrained_file: Optional[str] = None,
    ) -> None:
        super().__init__(pretrained_file)
        self._head = torch.nn.Linear(task_net_dim, output_space.num_labels, bias=bias)

    def forward(self, inputs, task_net, gold, mask=None):
        return in_full_precision(self._head, task_net.hidden)
