"""
Training that starts from a trained model, `{type: 'from_archive', archive_file: ...}`, with its labels or with more.
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

# The part of a model that is learned anew after each training.
_LEARNED_LAST = "structure."


@Model.register("from_archive", constructor="from_archive", exist_ok=True)
class ContinuedModel(Model):
    """
    A trained model, to train it on. Instances get the numbers of the new vocabulary, and the model keeps its own,
    so that it is an error where the two differ; AllenNLP's constructor of this name would read other words.

    There is no model of this class: what is made is of the class of the archive's.

    # Parameters

    archive_file : `str`
        An archive, the folder of a run, or a model of the hub.
    vocab : `Vocabulary`, optional (default = `None`)
        That of the new data; without one, the model is as it was.
    new_labels : `bool`, optional (default = `False`)
        Whether a `SealModel` gets rows for labels that it does not know, which start as those of a new model.
    """

    #: Of the class of the model that was loaded.
    default_predictor = "of_the_model"

    @classmethod
    def from_archive(cls, archive_file: str, vocab: Optional[Vocabulary] = None, new_labels: bool = False) -> Model:
        """
        The model of an archive.

        # Raises

        `ConfigurationError` where names of the vocabulary have other numbers than in the model; where there are new
        labels, and `new_labels` is false; or where the weights do not fit the new labels.
        """
        archive = load_archive(archive_file)
        model = archive.model
        if vocab is None:
            return model
        if isinstance(model, SealModel):
            more = _new_names(model, vocab, str(archive_file), new_labels)
            seal_model = _with_rows(archive, vocab, str(archive_file)) if more else model
            # Where the trainer makes nets for held-out scores.
            seal_model.starts_from = dict.fromkeys(seal_model.nets(), str(archive_file))
            if more:
                return seal_model
        model.vocab.extend_from_vocab(vocab)
        model.extend_embedder_vocab()
        return model


def _new_names(model: SealModel, vocab: Vocabulary, archive_file: str, new_labels: bool) -> list[str]:
    """
    The namespaces of the data's vocabulary with more names than the model's for which it needs new rows.

    # Raises

    `ConfigurationError` where the numbers of the names differ, or there are more and `new_labels` is not set.
    """
    extend = f"vocabulary to {{type: 'extend', directory: '{archive_file}'}}"
    # AllenNLP itself adds rows for words.
    words = {getattr(module, "_vocab_namespace", None) for module in model.modules()}
    more = []
    for namespace in sorted((model.vocab.get_namespaces() & vocab.get_namespaces()) - {WRITTEN}):
        ours, theirs = names_of(model.vocab, namespace), names_of(vocab, namespace)
        unknown = sorted(set(theirs) - set(ours), key=theirs.index)
        if unknown and namespace not in words and not new_labels:
            raise ConfigurationError(
                f"model.archive_file: this data has {len(unknown)} names in '{namespace}' that the model of "
                f"'{archive_file}' was not trained with, the first '{unknown[0]}'; correct the data, or set "
                f"model.new_labels to true, which gives the model a row for each, and {extend}, which keeps the "
                "numbers of the others."
            )
        length = min(len(ours), len(theirs))
        if ours[:length] != theirs[:length]:
            raise ConfigurationError(
                f"model.archive_file: this data's names in '{namespace}' have other numbers than in the model of "
                f"'{archive_file}'; set {extend}, which keeps the model's."
            )
        if unknown and namespace not in words:
            more.append(namespace)
    return more


def _with_rows(archive: Archive, vocab: Vocabulary, archive_file: str) -> SealModel:
    """A model of the archive's config and the larger vocabulary, with the archive's weights in its first rows."""
    old: Model = archive.model
    # One that the old vocabulary lacks has the entries for padding and unknown words there.
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
    """Whether two shapes differ only in sides that are the number of names of the old and the new vocabulary."""
    return len(old) == len(new) and all(one == other or (one, other) in sizes for one, other in zip(old, new))
