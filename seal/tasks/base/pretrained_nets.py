"""Copies the weights of one net from a trained model."""

from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from seal.allennlp.trained_models import trained_weights
from seal.common.nested_values import shapes_of
from seal.output_spaces import OutputSpace


def load_pretrained(
    net: torch.nn.Module,
    name: str,
    path: str,
    output_space: OutputSpace,
    vocab: Vocabulary,
    key: Optional[str] = None,
) -> None:
    """
    Copies the weights of one net, such as a static loss-net or a frozen noise net, from a trained model. Checkpoints
    and archives of the new model contain these weights and do not need the trained model.

    # Parameters

    net : `torch.nn.Module`
    name : `str`
        `"task_net"`, `"loss_net"` or `"cost_augmented_net"`.
    path : `str`
        A `model.tar.gz`, or the folder of a run.
    output_space : `OutputSpace`
        The trained model must have the same labels in the same order.
    vocab : `Vocabulary`
        The trained model must have the same indices of inputs (words or attributes).
    key : `str`, optional (default = `"model.<name>.pretrained_file"`)
        The config key of `path`, for messages.

    # Raises

    `ConfigurationError` if there is no trained model at `path`, it lacks the net, its labels or inputs differ, or the
    shapes of the weights differ.
    """
    key = key or f"model.{name}.pretrained_file"
    weights = trained_weights(path, key, output_space.namespace, output_space.labels, vocab)
    start = f"{name}."
    trained = {
        parameter.removeprefix(start): value for parameter, value in weights.items() if parameter.startswith(start)
    }
    if not trained:
        raise ConfigurationError(f"{key}: the model in '{path}' has no {name}.")
    shapes, trained_shapes = shapes_of(net.state_dict()), shapes_of(trained)
    for parameter in sorted(set(shapes) | set(trained_shapes)):
        if shapes.get(parameter) != trained_shapes.get(parameter):
            raise ConfigurationError(
                f"{key}: '{parameter}' is {shapes.get(parameter, 'absent')} here and "
                f"{trained_shapes.get(parameter, 'absent')} in '{path}': give the {name} the same settings."
            )
    net.load_state_dict(trained)
