"""The base class of encoders, and the encoder of feature vectors."""

from typing import Any, Optional, Union

import torch

from seal.common.setting_checks import check_range
from seal.common.vocabularies import ATTRIBUTES, Vocabulary, labels_of
from seal.registry import Activation, ConfigurationError, Registrable


class Encoder(torch.nn.Module, Registrable):
    """
    A feature network: `T_F` of the task-net or `T_E` of the loss-net (SEAL, NeurIPS 2022, section 4).

    `inputs` are the model's input tensors by name. Which names it reads is part of each encoder's documentation;
    the model of the task gives them.
    """

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        """Hidden vectors: `(batch, size)`; `(batch, tokens, size)` for sequences; `(batch, H, W, size)` for images."""
        raise NotImplementedError

    def get_output_dim(self) -> int:
        raise NotImplementedError


@Encoder.register("feature_mlp")
class FeatureMlp(Encoder):
    """
    A multi-layer perceptron over dense features: `num_layers` times `Dropout(softplus(W h + b))`, all of one width
    (SEAL, ICLR 2022 submission, section 4.1; the shape follows from the parameter counts of its Table 11). As in the
    authors' code, the activation follows every layer, the last one too, weights start Kaiming-uniform, in
    `+- sqrt(6 / inputs)`, and biases at 0.

    Reads `features (batch, input_dim)`.

    # Parameters

    hidden_dim : `int`
        The width of every layer, and the size of the vectors.
    num_layers : `int`
    dropout : `float` or `list[float]`, optional (default = `0.0`)
        After each layer; a list has one value for each layer.
    activation : `Activation`, optional (default = `softplus`)
    input_dim : `int`, optional (default = the attributes in the vocabulary)
        The number of features.
    vocab : `Vocabulary`, optional
        Given by the model.

    # Raises

    `ConfigurationError` if a size is less than 1, the list of dropouts has another length, or a batch comes
    with another number of features.
    """

    def __init__(
        self,
        hidden_dim: int,
        num_layers: int,
        dropout: Union[float, list[float]] = 0.0,
        activation: Optional[Activation] = None,
        input_dim: Optional[int] = None,
        vocab: Optional[Vocabulary] = None,
    ) -> None:
        super().__init__()
        if input_dim is None:
            if vocab is None:
                raise ConfigurationError("encoder.input_dim: set it, where no vocabulary gives it.")
            input_dim = len(labels_of(vocab, ATTRIBUTES))
        for name, size in (("input_dim", input_dim), ("hidden_dim", hidden_dim), ("num_layers", num_layers)):
            check_range(f"encoder.{name}", size, least=1)
        if isinstance(dropout, list) and len(dropout) != num_layers:
            raise ConfigurationError(
                f"encoder.dropout: one number, or one for each of the {num_layers} layers, not {len(dropout)}."
            )
        dropouts = dropout if isinstance(dropout, list) else [dropout] * num_layers
        self._layers = _Layers(input_dim, hidden_dim, activation or Activation.by_name("softplus")(), dropouts)
        self._input_dim, self._hidden_dim = input_dim, hidden_dim
        for name, parameter in self._layers.named_parameters():
            if name.endswith("bias"):
                torch.nn.init.zeros_(parameter)
            else:
                torch.nn.init.kaiming_uniform_(parameter, nonlinearity="relu")

    def forward(self, inputs: dict[str, Any]) -> torch.Tensor:
        features = inputs["features"]
        if features.shape[-1] != self._input_dim:
            raise ConfigurationError(
                f"encoder.input_dim: the data have {features.shape[-1]} features, not {self._input_dim}."
            )
        return self._layers(features)

    def get_output_dim(self) -> int:
        return self._hidden_dim


class _Layers(torch.nn.Module):
    """Its weights have the names that AllenNLP's `FeedForward` gives them."""

    def __init__(self, input_dim: int, hidden_dim: int, activation: torch.nn.Module, dropouts: list[float]) -> None:
        super().__init__()
        sizes = [input_dim] + [hidden_dim] * len(dropouts)
        self._activations = torch.nn.ModuleList([activation] * len(dropouts))
        self._linear_layers = torch.nn.ModuleList(torch.nn.Linear(*pair) for pair in zip(sizes, sizes[1:]))
        self._dropout = torch.nn.ModuleList(torch.nn.Dropout(p=value) for value in dropouts)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        for layer, activation, dropout in zip(self._linear_layers, self._activations, self._dropout):
            hidden = dropout(activation(layer(hidden)))
        return hidden
