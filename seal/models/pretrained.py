from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from seal.common.nested_values import shapes_of
from seal.files.trained_models import trained_weights
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
    Gives a part of a model, such as a static loss-net or a frozen noise net, the weights that it has in a trained
    model. A checkpoint or an archive of the new model does not need that file.

    # Parameters

    net : `torch.nn.Module`
    name : `str`
        `"task_net"`, `"loss_net"` or `"cost_augmented_net"`.
    path : `str`
        A `model.tar.gz`, or the folder of a run.
    output_space : `OutputSpace`
        Its labels must be the trained model's, in the same order.
    vocab : `Vocabulary`
        Its numbering of the inputs (words, or attributes) must be the trained model's, too.
    key : `str`, optional (default = `"model.<name>.pretrained_file"`)
        That of the path, for messages.

    # Raises

    `ConfigurationError` if there is no such model, its labels or inputs differ or its part has another shape.
    """
    key = key or f"model.{name}.pretrained_file"
    weights = trained_weights(path, key, output_space.namespace, output_space.labels, vocab)
    start = f"{name}."
    mine = {parameter.removeprefix(start): value for parameter, value in weights.items() if parameter.startswith(start)}
    if not mine:
        raise ConfigurationError(f"{key}: the model in '{path}' has no {name}.")
    shapes, theirs = shapes_of(net.state_dict()), shapes_of(mine)
    for parameter in sorted(set(shapes) | set(theirs)):
        if shapes.get(parameter) != theirs.get(parameter):
            raise ConfigurationError(
                f"{key}: '{parameter}' is {shapes.get(parameter, 'absent')} here and "
                f"{theirs.get(parameter, 'absent')} in '{path}': give the {name} the same settings."
            )
    net.load_state_dict(mine)
