from collections.abc import Iterable
from typing import Any, Optional, cast

import torch

from seal.common.nested_values import shapes_of
from seal.common.setting_checks import check_range, needed
from seal.energies import Energy, LocalEnergy
from seal.nets.encoders import Encoder
from seal.nets.task_net import TaskNet
from seal.output_spaces import OutputSpace, OverOutputs
from seal.registry import ConfigurationError, Lazy, Registrable, construct


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
        Makes the local term minus the inner product of an output and the task-net's logits; the other terms do not
        change. `check_copy` says whether this is possible.
        """
        needed(self.encoder, "loss_net.encoder").load_state_dict(task_net.encoder.state_dict())
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
        """The encoder's vectors, the first and, with an encoder of its own, the longer part of `encode`."""
        if self.encoder is None:
            return needed(task_hidden, "the task_net's vectors").detach()
        return self.encoder(inputs)

    def condition(
        self, vectors: torch.Tensor, inputs: dict[str, Any], mask: Optional[torch.Tensor] = None
    ) -> list[Any]:
        """The rest of `encode`: what each term makes of the encoder's vectors."""
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
