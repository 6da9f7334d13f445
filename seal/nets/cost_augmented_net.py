"""
Cost-augmented inference networks, which a loss-net learns from in training, beside the task-net.
"""

from typing import Any, Dict, Optional

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from allennlp.modules import Seq2SeqEncoder

from seal.common.precision import in_full_precision
from seal.nets.encoders import Encoder
from seal.nets.task_net import TaskNet, TaskNetOutput
from seal.output_spaces import OutputSpace


class CostAugmentedNet(torch.nn.Module, Registrable):
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

    def __init__(self, pretrained_file: Optional[str] = None) -> None:
        super().__init__()
        self.pretrained_file = pretrained_file

    def forward(
        self,
        inputs: Dict[str, Any],
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


@CostAugmentedNet.register("stacked")
class StackedNet(CostAugmentedNet):
    """
    A small function of the task-net's relaxed output and gold, `q([A(x)_t ; y_t])` for each position `t` (Tu, Pang &
    Gimpel 2020, section 3.1). `F^c` differs little from `A`, and gold shows where the cost is. `A(x)` is a constant
    here, so that the loss of `F^c` trains `q` alone, and no weight of the task-net.

    If all labels are one position, as in a label set, `q` sees all of them.

    # Parameters

    output_space, task_net_dim : given by the model.
    encoder : `Seq2SeqEncoder`, optional (default = `None`)
        An encoder over the positions, below the linear layer of `q`; in the paper a BiLSTM is as good as none. Its
        input size is twice the number of labels. `None`: `q` is the linear layer.
    pretrained_file : `str`, optional (default = `None`)
        As in `CostAugmentedNet`.

    # Raises

    `ConfigurationError` if the encoder's input size is another one.
    """

    def __init__(
        self,
        output_space: OutputSpace,
        task_net_dim: int,
        encoder: Optional[Seq2SeqEncoder] = None,
        pretrained_file: Optional[str] = None,
    ) -> None:
        super().__init__(pretrained_file)
        self._output_space = [output_space]  # In a list, as it is a submodule of the model, not of this net.
        size = 2 * output_space.num_labels
        if encoder is not None and encoder.get_input_dim() != size:
            raise ConfigurationError(
                f"model.cost_augmented_net.encoder: its input size must be {size}, twice the number of labels, not "
                f"{encoder.get_input_dim()}."
            )
        self._encoder = encoder
        self._head = torch.nn.Linear(
            size if encoder is None else encoder.get_output_dim(), output_space.num_labels
        )

    def forward(self, inputs, task_net, gold, mask=None):
        space = self._output_space[0]
        output = space.relax(task_net.logits.detach(), mask)
        # `stack` relaxes gold, too, whatever its form. shape: (batch, 2, *structure)
        both = space.stack(output, gold.unsqueeze(1))
        features = torch.cat([both[:, 0], both[:, 1]], dim=-1)
        if self._encoder is not None:
            features = self._encoder(features, mask)
        return in_full_precision(self._head, features)
