"""
Training that starts from a trained model, `{type: 'from_archive', archive_file: ...}`, optionally with new labels.
"""

from typing import Optional

import torch
from allennlp.common.params import remove_keys_from_params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.archival import Archive, load_archive

from seal.common.vocabularies import WRITTEN, names_of
from seal.registry import ConfigurationError
from seal.tasks.base.seal_model import SealModel

# The prefix of the weights that are fitted again after each training.
_LEARNED_LAST = "structure."


@Model.register("from_archive", constructor="from_archive", exist_ok=True)
class ContinuedModel(Model):
    """
    Loads a trained model to continue its training. The result has the class of the trained model. Instances are indexed
    with the new vocabulary and the model's embeddings with the old one, so that the two must agree. AllenNLP's
    constructor of this name does not check this.

    # Parameters

    archive_file : `str`
        An archive, the folder of a run, or a model of the hub.
    vocab : `Vocabulary`, optional (default = `None`)
        The vocabulary of the new data; `None`: the model stays unchanged.
    new_labels : `bool`, optional (default = `False`)
        Whether a `SealModel` gets rows for new labels, which are initialized as in a new model.
    """

    #: The default predictor of the loaded model's class.
    default_predictor = "of_the_model"

    @classmethod
    def from_archive(cls, archive_file: str, vocab: Optional[Vocabulary] = None, new_labels: bool = False) -> Model:
        """
        Loads the model of an archive.

        # Raises

        `ConfigurationError` if names have other indices in the vocabulary than in the model, if there are new labels
        and `new_labels` is false, or if the weights do not fit the new labels.
        """
        archive = load_archive(archive_file)
        model = archive.model
        if vocab is None:
            return model
        if isinstance(model, SealModel):
            new_names = _new_names(model, vocab, str(archive_file), new_labels)
            seal_model = _with_rows(archive, vocab, str(archive_file)) if new_names else model
            # For cross-fitting, whose nets start from the same weights.
            seal_model.starts_from = dict.fromkeys(seal_model.nets(), str(archive_file))
            if new_names:
                return seal_model
        model.vocab.extend_from_vocab(vocab)
        model.extend_embedder_vocab()
        return model


def _new_names(model: SealModel, vocab: Vocabulary, archive_file: str, new_labels: bool) -> list[str]:
    """
    The namespaces of labels in which the data's vocabulary has new names.

    # Raises

    `ConfigurationError` if the indices of the names differ, or there are new names and `new_labels` is false.
    """
    extend = f"vocabulary to {{type: 'extend', directory: '{archive_file}'}}"
    # AllenNLP itself adds rows for words.
    words = {getattr(module, "_vocab_namespace", None) for module in model.modules()}
    namespaces = []
    for namespace in sorted((model.vocab.get_namespaces() & vocab.get_namespaces()) - {WRITTEN}):
        old, new = names_of(model.vocab, namespace), names_of(vocab, namespace)
        unknown = sorted(set(new) - set(old), key=new.index)
        if unknown and namespace not in words and not new_labels:
            raise ConfigurationError(
                f"model.archive_file: this data has {len(unknown)} names in '{namespace}' that the model of "
                f"'{archive_file}' was not trained with, the first '{unknown[0]}'; correct the data, or set "
                f"model.new_labels to true, which gives the model a row for each, and {extend}, which keeps the "
                "numbers of the others."
            )
        length = min(len(old), len(new))
        if old[:length] != new[:length]:
            raise ConfigurationError(
                f"model.archive_file: this data's names in '{namespace}' have other numbers than in the model of "
                f"'{archive_file}'; set {extend}, which keeps the model's."
            )
        if unknown and namespace not in words:
            namespaces.append(namespace)
    return namespaces


def _with_rows(archive: Archive, vocab: Vocabulary, archive_file: str) -> SealModel:
    """
    Constructs the archive's model with the larger vocabulary and copies the archive's weights into its first rows.
    """
    old: Model = archive.model
    # In a namespace that the old vocabulary lacks, its size is that of the entries for padding and unknown words.
    sizes = {(old.vocab.get_vocab_size(name), vocab.get_vocab_size(name)) for name in vocab.get_namespaces()}
    params = archive.config.duplicate()["model"]
    remove_keys_from_params(params)
    new: SealModel = Model.from_params(params, vocab=vocab)  # type: ignore[assignment]  # As the old one is.
    trained = dict(new.named_parameters())
    weights: dict[str, torch.Tensor] = new.state_dict()
    for name, value in old.state_dict().items():
        shape = None if name not in weights else tuple(weights[name].shape)
        if name.startswith(_LEARNED_LAST) or shape == tuple(value.shape):
            if not name.startswith(_LEARNED_LAST):
                weights[name] = value
        elif shape is not None and _has_more_rows(tuple(value.shape), shape, sizes):
            weights[name] = weights[name].clone()
            weights[name][tuple(slice(0, size) for size in value.shape)] = value
        elif name not in trained or trained[name].requires_grad:
            raise ConfigurationError(
                f"model.new_labels: '{name}' of the model of '{archive_file}' has the shape {tuple(value.shape)}, and "
                f"would need {shape or 'none'} with the new labels; train anew."
            )
    new.load_state_dict(weights)
    return new


def _has_more_rows(old: tuple[int, ...], new: tuple[int, ...], sizes: set) -> bool:
    """Whether two shapes differ only in dimensions whose sizes are the old and the new size of a namespace."""
    return len(old) == len(new) and all(one == other or (one, other) in sizes for one, other in zip(old, new))
