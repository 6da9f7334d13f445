"""
Training that starts from a trained model, `{type: 'from_archive', archive_file: ...}`, with its labels or with more.
"""

from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import remove_keys_from_params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.archival import Archive, load_archive
from allennlp.predictors import Predictor

from seal.allennlp.replacing import replace_once
from seal.common.vocabularies import WRITTEN, names_of
from seal.models.seal_model import SealModel

# The part of a model that is learned anew after each training.
_LEARNED_LAST = "structure."


def keep_the_numbers_of_labels() -> None:
    """
    Patches: `allennlp.models.Model.from_archive`.

    Symptom: instances get the numbers of the new data's vocabulary, and the model keeps those of its own. Where the
    two differ, it reads other words, silently; and a new label ends in `IndexError: index 11 is out of bounds`. Here
    both are a sentence, and with the further parameter `new_labels` (`bool`, default `False`) the model gets rows for
    new labels, which start as those of a new model; what it has learned is kept.

    Can go: when AllenNLP's checks that the vocabulary continues the model's.
    """
    if getattr(Model.from_archive.__func__, "patched_by_seal", False):
        return

    def from_archive(cls, archive_file: str, vocab: Optional[Vocabulary] = None, new_labels: bool = False) -> Model:
        """As AllenNLP's, with `new_labels`: whether a `SealModel` gets rows for labels that it does not know."""
        archive = load_archive(archive_file)
        model = archive.model
        if vocab is None:
            return model
        if isinstance(model, SealModel):
            more = _new_names(model, vocab, str(archive_file), new_labels)
            if more:
                model = _with_rows(archive, vocab, str(archive_file))
            # Where the trainer makes nets for held-out scores.
            model.starts_from = dict.fromkeys(model.nets(), str(archive_file))
            if more:
                return model
        model.vocab.extend_from_vocab(vocab)
        model.extend_embedder_vocab()
        return model

    from_archive.patched_by_seal = True
    Model.from_archive = classmethod(from_archive)


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


def _with_rows(archive: Archive, vocab: Vocabulary, archive_file: str) -> Model:
    """A model of the archive's config and the larger vocabulary, with the archive's weights in its first rows."""
    old: Model = archive.model
    # One that the old vocabulary lacks has the entries for padding and unknown words there.
    sizes = {(old.vocab.get_vocab_size(name), vocab.get_vocab_size(name)) for name in vocab.get_namespaces()}
    params = archive.config.duplicate()["model"]
    remove_keys_from_params(params)
    new = Model.from_params(params, vocab=vocab)
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


def predict_by_the_predictor_of_the_task() -> None:
    """
    Patches: `allennlp.predictors.Predictor.from_archive`.

    Symptom: the default predictor is sought by the name `from_archive` in the config, which has none, and the base of
    all predictors ends in a traceback.

    Can go: when AllenNLP asks the model that was loaded.
    """

    def from_archive(original, cls, archive, predictor_name=None, *args, **kwargs):
        if predictor_name is None and archive.config["model"].get("type") == "from_archive":
            predictor_name = archive.model.default_predictor
        return original(cls, archive, predictor_name, *args, **kwargs)

    replace_once(Predictor, "from_archive", from_archive)


PATCHES = (keep_the_numbers_of_labels, predict_by_the_predictor_of_the_task)
