"""Reads the weights of a trained model, from which a new model starts."""

import os
from contextlib import nullcontext
from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from seal.allennlp.model_names import model_path
from seal.allennlp.safe_archives import extracted_archive
from seal.common.vocabularies import WRITTEN, names_of
from seal.files.paths import user_path
from seal.files.weights import read_weights


def trained_weights(
    path: str, key: str, namespace: str, labels: list[str], inputs: Optional[Vocabulary] = None
) -> dict[str, torch.Tensor]:
    """
    Reads the weights of the best epoch of a trained model, to initialise a part of a new model.

    # Parameters

    path : `str`
        An archive, the folder of a run, or the name of a model.
    key : `str`
        The config key of the path, for messages.
    namespace : `str`
        The vocabulary namespace of the labels.
    labels : `list[str]`
        The labels of the new model. The trained model's namespace must have the same ones, in the same order.
    inputs : `Vocabulary`, optional (default = `None`)
        The vocabulary of the new model, if the part reads words or attributes by their indices. Each namespace of both
        vocabularies must have the same entries in the same order.

    # Returns

    `dict[str, torch.Tensor]`: the weights by name.

    # Raises

    `ConfigurationError` if there is no such model, or its labels or inputs differ.
    """
    path = user_path(path)
    try:
        found = model_path(path)
        with nullcontext(found) if os.path.isdir(found) else extracted_archive(found) as folder:
            # Older models have copies of the output space in their nets.
            weights = {name: value for name, value in _read(folder).items() if ".output_space." not in name}
            vocab = Vocabulary.from_files(os.path.join(folder, "vocabulary"))
    except (ConfigurationError, FileNotFoundError) as error:
        raise ConfigurationError(f"{key}: '{path}' is not a trained model: {error}") from None
    theirs = names_of(vocab, namespace)
    if sorted(theirs) == sorted(labels) and theirs != labels:
        folder = os.path.join(path if os.path.isdir(path) else "RUN", "vocabulary")
        raise ConfigurationError(
            f"{key}: '{path}' has the labels of this data in another order; set vocabulary to {{type: 'extend', "
            f"directory: '{folder}'}}, which keeps that order."
        )
    if theirs != labels:
        raise ConfigurationError(f"{key}: the labels of '{path}' are not those of this data, in their order.")
    if inputs is None:
        return weights
    for other in sorted(inputs.get_namespaces() & vocab.get_namespaces() - {namespace, WRITTEN}):
        if names_of(vocab, other) != names_of(inputs, other):
            raise ConfigurationError(
                f"{key}: the vocabulary '{other}' of '{path}' is not that of this data, in its order."
            )
    return weights


def _read(folder: str) -> dict[str, torch.Tensor]:
    for file in ("best.th", "weights.th"):
        path = os.path.join(folder, file)
        if os.path.exists(path):
            return read_weights(path)
    raise FileNotFoundError(f"neither best.th nor weights.th in '{folder}'")
