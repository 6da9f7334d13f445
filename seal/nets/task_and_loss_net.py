"""The two nets: the task-net, which predicts, and the loss-net, an energy that trains it."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Optional, cast

import torch

from seal.common.nested_values import shapes_of
from seal.common.precision import in_full_precision
from seal.common.setting_checks import check_range, require
from seal.energies import Energy, LocalEnergy
from seal.nets.encoders import Encoder
from seal.output_spaces import OutputSpace, OverOutputs
from seal.registry import ConfigurationError, Lazy, Registrable, construct


class TaskNetOutput(NamedTuple):
    """
    The output of a task-net for a batch.

    # Parameters

    logits : `torch.Tensor`, `(batch, *structure)`
    hidden : `torch.Tensor`, `(batch, ..., size)`, optional
        The encoder's vectors, for further heads and for a loss-net that shares them.
    earlier : `torch.Tensor`, `(batch, steps, *structure)`, optional (default = `None`)
        In training, the logits of the steps before the last, for a net that computes its logits in steps.
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
        The parameters of the linear layer. A subclass without it returns the parameters of its own last layer, or an
        empty list.
        """
        head = getattr(self, "_head", None)
        return [] if head is None else list(head.parameters())

    def get_output_dim(self) -> int:
        """The size of `hidden`."""
        return self.encoder.get_output_dim()


TaskNet.register("linear")(TaskNet)


class LossNet(OverOutputs, Registrable):
    """
    The loss-net `E_Theta(x, y)`: an encoder `T_E` and the sum of energy terms (SEAL, NeurIPS 2022, Eq. 2). Low is
    good. `encode` computes the features of the input, once per batch; calling the net evaluates any number of
    candidates with them.

    # Parameters

    energies : `list[Lazy[Energy]]`
        In Python also their classes, or functions that make them: `[LocalEnergy, partial(LinearChainEnergy, ...)]`.
    encoder : `Encoder`, optional (default = `None`)
        `None`: the task-net's encoder is shared. The loss-net reads its vectors as constants, and trains only its own
        terms.
    dropout : `float`, optional (default = `0.0`)
        On the encoder's vectors.
    layer_dim : `int`, optional (default = `None`)
        The size of a layer of the loss-net's own, `tanh(W h + b)`, on the encoder's vectors, below its terms; with a
        shared encoder the rest of `b = g o f`, of which only `f` is shared (Tu, Pang & Gimpel 2020, appendix A.1).
        `None`: no layer.
    pretrained_file : `str`, optional (default = `None`)
        A trained model's archive or folder. The weights start as those of its loss-net, which must have the same
        shape.
    output_space : `OutputSpace`
        Given by the model.
    task_net_dim : `int`, optional
        The size of the task-net's vectors; `None` without a task-net. Given by the model.

    # Raises

    `ConfigurationError` without any energy, or without an encoder where there is no task-net.
    """

    default_implementation = "sum_of_energies"

    def __init__(
        self,
        energies: list[Lazy[Energy]],
        output_space: OutputSpace,
        task_net_dim: Optional[int],
        encoder: Optional[Encoder] = None,
        dropout: float = 0.0,
        layer_dim: Optional[int] = None,
        pretrained_file: Optional[str] = None,
    ) -> None:
        super().__init__()
        check_range("loss_net.layer_dim", layer_dim, least=1)
        self.pretrained_file = pretrained_file
        input_dim = task_net_dim if encoder is None else encoder.get_output_dim()
        if input_dim is None:
            raise ConfigurationError("loss_net.encoder: without a task_net there is none to share; set one.")
        if not energies:
            raise ConfigurationError("loss_net.energies: give at least one energy.")
        self.encoder = encoder
        self._dropout = torch.nn.Dropout(dropout)
        self._layer: Optional[torch.nn.Linear] = None
        if layer_dim is not None:
            self._layer = torch.nn.Linear(input_dim, layer_dim)
            input_dim = layer_dim
        self.energies = torch.nn.ModuleList(
            construct(energy, input_dim=input_dim, output_space=output_space) for energy in energies
        )

    @property
    def shares_encoder(self) -> bool:
        return self.encoder is None

    def check_copy(self, task_net: Optional[TaskNet]) -> None:
        """
        # Raises

        `ConfigurationError` if `copy_task_net` is not possible.
        """
        problem = None
        if task_net is None:
            problem = "the model has no task_net"
        elif self.encoder is None or shapes_of(self.encoder.state_dict()) != shapes_of(task_net.encoder.state_dict()):
            problem = "the loss-net needs an encoder of its own, of the task-net's settings"
        elif len(self._local_energies()) != 1:
            problem = "the loss-net needs an energy 'local', and one only"
        elif task_net.label_bias is not None:
            problem = "the energy 'local' has no bias; set the task_net's bias to false"
        elif self._layer is not None:
            problem = "the loss-net has a layer that the task-net lacks; leave layer_dim out"
        if problem is not None:
            raise ConfigurationError(f"copy_task_net: {problem}.")

    @torch.no_grad()
    def copy_task_net(self, task_net: TaskNet) -> None:
        """
        Sets the local term to minus the inner product of an output and the task-net's logits. The other terms do not
        change. `check_copy` tests whether this is possible.
        """
        require(self.encoder, "loss_net.encoder").load_state_dict(task_net.encoder.state_dict())
        (local,) = self._local_energies()
        local.label_embeddings.weight.copy_(-task_net.label_weights)

    def _local_energies(self) -> list[LocalEnergy]:
        return [energy for energy in self.energies if isinstance(energy, LocalEnergy)]

    def encode(
        self,
        inputs: dict[str, Any],
        task_hidden: Optional[torch.Tensor],
        mask: Optional[torch.Tensor] = None,
    ) -> list[Any]:
        """
        # Parameters

        inputs : the model's input tensors.
        task_hidden : `torch.Tensor`, `(batch, ..., size)`
            The task-net's vectors; used, without gradient, where the encoder is shared.
        mask : `torch.BoolTensor`, optional
            `(batch, tokens)`, True at real tokens; `None` where all instances have one size.

        # Returns

        The features of the input, one item for each term.
        """
        return self.condition(self.vectors(inputs, task_hidden), inputs, mask)

    def vectors(self, inputs: dict[str, Any], task_hidden: Optional[torch.Tensor]) -> torch.Tensor:
        """The first part of `encode`: the vectors of the loss-net's own encoder, or of the task-net's."""
        if self.encoder is None:
            return require(task_hidden, "the task_net's vectors").detach()
        return self.encoder(inputs)

    def condition(
        self, vectors: torch.Tensor, inputs: dict[str, Any], mask: Optional[torch.Tensor] = None
    ) -> list[Any]:
        """The second part of `encode`: the features of each term from the encoder's vectors."""
        hidden = self._dropout(vectors)
        if self._layer is not None:
            hidden = torch.tanh(self._layer(hidden))
        return [energy.condition(hidden, mask, inputs) for energy in cast(Iterable[Energy], self.energies)]

    def forward(self, features: list[Any], outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """`E(x, y)` of `outputs (batch, samples, *output)`: `(batch, samples)`."""
        total: Any = 0
        for energy, condition in zip(self.energies, features):
            total = total + energy(condition, outputs, mask)
        return total


LossNet.register("sum_of_energies")(LossNet)
