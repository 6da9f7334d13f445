import re
from typing import Optional

import torch
from allennlp.data import Vocabulary

from seal.common.nested_values import shapes_of
from seal.energies.energy import Energy
from seal.files.trained_models import trained_weights
from seal.output_spaces import OutputSpace
from seal.registry import ConfigurationError

_TERM = re.compile(r"(loss_net\.energies\.\d+)\.(.+)")


def load_pretrained_energy(
    energy: Energy, key: str, path: str, output_space: OutputSpace, inputs: Optional[Vocabulary] = None
) -> None:
    """
    Loads into an energy the weights of the one term of its shape in a trained model's loss-net, which may have other
    terms too. Checkpoints and archives of the new model hold the weights and no longer need the file.

    # Parameters

    energy : `Energy`
    key : `str`
        The config key that names the file, for messages.
    path : `str`
        A `model.tar.gz`, or the folder of a run.
    output_space : `OutputSpace`
        Its labels must be the trained model's, in their order.
    inputs : `Vocabulary`, optional (default = `None`)
        Of the new model, where the term reads words by their numbers, which must be the trained model's, too.

    # Raises

    `ConfigurationError` if there is no such model, its labels or inputs differ, or not exactly one of its terms has
    this shape.
    """
    weights = trained_weights(path, key, output_space.namespace, output_space.labels, inputs)
    terms: dict[str, dict[str, torch.Tensor]] = {}
    for name, value in weights.items():
        match = _TERM.fullmatch(name)
        if match is not None:
            terms.setdefault(match[1], {})[match[2]] = value
    shapes = shapes_of(energy.state_dict())
    fitting = [weights for weights in terms.values() if shapes_of(weights) == shapes]
    if len(fitting) != 1:
        raise ConfigurationError(
            f"{key}: of the {len(terms)} terms of the loss-net in '{path}', {len(fitting)} have the shape of this "
            "one, where it takes exactly one: give this term the settings of that one."
        )
    energy.load_state_dict(fitting[0])
