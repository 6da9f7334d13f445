"""
Pretrained encoders of text: how their words were cut into pieces in training, and the folders where they are found.
"""

import os
import re
from typing import Any

from allennlp.commands import train
from allennlp.common import Params, cached_transformers
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival

from seal.allennlp.replacing import replace_once
from seal.dataset_readers.sentence_pieces import ALONE, IN_SENTENCE, INDEXER, OF_TRAINED_MODEL
from seal.files.paths import user_path


def tell_old_models_from_new() -> None:
    """
    Patches: `allennlp.models.archival._load_dataset_readers`, and `allennlp.commands.train.train_model`.

    Symptom: AllenNLP's indexer gives every word but the first pieces that pretraining had at the start of a text only.
    Models that were trained so need those pieces, and their configs do not say it: training now writes `pieces` into
    the config, and a trained model without it is an old one.

    Can go: when AllenNLP's indexer makes the pieces of a sentence, and no old model is left.
    """

    def _load_dataset_readers(original: Any, *args: Any, **kwargs: Any) -> Any:
        token = OF_TRAINED_MODEL.set(set())
        try:
            return original(*args, **kwargs)
        finally:
            OF_TRAINED_MODEL.reset(token)

    def train_model(original, params, serialization_dir, recover=False, *args, **kwargs):
        _note_pieces(params, serialization_dir, recover)
        return original(params, serialization_dir, recover, *args, **kwargs)

    replace_once(archival, "_load_dataset_readers", _load_dataset_readers)
    replace_once(train, "train_model", train_model)


def _note_pieces(params: Params, serialization_dir: str, recover: bool) -> None:
    """Writes into a run's config which pieces it reads; also into that of a run of before, which is continued."""
    path = os.path.join(serialization_dir, archival.CONFIG_NAME)
    pieces = IN_SENTENCE
    if recover and os.path.isfile(path):
        run = Params.from_file(path)
        if _set_pieces(run.params, ALONE):
            run.to_file(path)
            pieces = ALONE
    _set_pieces(params.params, pieces)


def _set_pieces(config: Any, pieces: str) -> bool:
    """Sets `pieces` of each indexer in a config that has none; returns whether there was one."""
    if isinstance(config, Params):
        config = config.params
    found = False
    if isinstance(config, dict):
        if config.get("type") == INDEXER and "pieces" not in config:
            config["pieces"] = pieces
            found = True
        config = list(config.values())
    for item in config if isinstance(config, list) else ():
        found = _set_pieces(item, pieces) or found
    return found


def find_encoders() -> None:
    """
    Patches: `allennlp.common.cached_transformers.get` and `get_tokenizer`.

    Symptom: an encoder `~/bert` is sought on the hub, whereas files of word vectors are found there. A folder or a name
    without an encoder ends in a traceback, with a list of all kinds of encoders.

    Can go: when transformers or AllenNLP expand `~`, and name what they do not find.
    """

    def load(original, model_name, *args, **kwargs):
        try:
            return original(user_path(model_name), *args, **kwargs)
        except (OSError, ValueError) as error:
            if getattr(error, "filename", None) is not None:
                raise
            told = re.split(r", or contain|, one of|\. Checkout your", " ".join(str(error).split()))[0].rstrip(".")
            if isinstance(error, OSError):
                told = (
                    f"encoder '{model_name}' is neither a local folder with a transformer nor a model that can be had "
                    f"from the hub here ({told})"
                )
            raise ConfigurationError(f"{told}.") from error

    replace_once(cached_transformers, "get", load)
    replace_once(cached_transformers, "get_tokenizer", load)


PATCHES = (tell_old_models_from_new, find_encoders)
