"""
Pretrained encoders of text: how their words were cut into pieces in training, and the folders where they are found.
"""

import re
from contextvars import ContextVar
from typing import Any, Optional

from allennlp.commands import train
from allennlp.common import Params, cached_transformers
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival

from seal.allennlp.replacing import replace_once
from seal.files.paths import user_path

#: The registered name of the indexer of pieces (`seal.tasks.base.sentence_pieces`).
INDEXER = "pretrained_transformer_mismatched"
#: The setting by which words become pieces as inside their sentence.
IN_SENTENCE = "in_sentence"
#: Where the readers that are being constructed are those of a trained model, the encoders that a warning has named;
#: else `None`.
OF_TRAINED_MODEL: ContextVar[Optional[set[str]]] = ContextVar("of_trained_model", default=None)


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

    def train_model(original, params, *args, **kwargs):
        params.params = note_pieces(params.params)
        return original(params, *args, **kwargs)

    replace_once(archival, "_load_dataset_readers", _load_dataset_readers)
    replace_once(train, "train_model", train_model)


def note_pieces(config: Any) -> Any:
    """A config for training, or a part of it, that says which pieces it reads."""
    if isinstance(config, Params):
        config = config.params
    if isinstance(config, list):
        return [note_pieces(item) for item in config]
    if not isinstance(config, dict):
        return config
    more = {"pieces": IN_SENTENCE} if config.get("type") == INDEXER and "pieces" not in config else {}
    return {**{key: note_pieces(value) for key, value in config.items()}, **more}


def find_encoders() -> None:
    """
    Patches: `allennlp.common.cached_transformers.get` and `get_tokenizer`.

    Symptom: `AttributeError: add_special_tokens conflicts with the method add_special_tokens` for every pretrained
    tokenizer, with transformers >= 4.44. The keyword never had an effect in the constructor (special tokens are added
    where the call of `encode_plus` asks for them, as each of AllenNLP's calls says), so it is dropped. An encoder
    `~/bert` is sought on the hub, whereas files of word vectors are found there. A folder or a name without an encoder
    ends in a traceback, with a list of all kinds of encoders.

    Can go: when AllenNLP no longer passes the keyword, expands `~`, and names what is not found.
    """

    def load(original, model_name, *args, **kwargs):
        kwargs.pop("add_special_tokens", None)
        try:
            return original(user_path(model_name), *args, **kwargs)
        except (OSError, ValueError) as error:
            if getattr(error, "filename", None) is not None:
                raise
            message = re.split(r", or contain|, one of|\. Checkout your", " ".join(str(error).split()))[0].rstrip(".")
            if isinstance(error, OSError):
                message = (
                    f"encoder '{model_name}' is neither a local folder with a transformer nor a model that can be had "
                    f"from the hub here ({message})"
                )
            raise ConfigurationError(f"{message}.") from error

    replace_once(cached_transformers, "get", load)
    replace_once(cached_transformers, "get_tokenizer", load)


PATCHES = (tell_old_models_from_new, find_encoders)
