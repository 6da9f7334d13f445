"""Loads pretrained transformers and their tokenizers, from a folder or from the hub."""

import re

from allennlp.common import cached_transformers
from allennlp.common.checks import ConfigurationError

from seal.allennlp.replacing import replace_once
from seal.files.paths import user_path


def load_encoders() -> None:
    """
    Patches: `allennlp.common.cached_transformers.get` and `get_tokenizer`.

    Symptom: with transformers >= 4.44 every pretrained tokenizer ends in `AttributeError: add_special_tokens conflicts
    with the method add_special_tokens`. The keyword never had an effect in the constructor, so it is dropped; each of
    AllenNLP's calls of `encode_plus` asks for special tokens itself. An encoder `~/bert` is searched on the hub,
    although files of word vectors may be named in this way. A folder or name without an encoder ends in a traceback
    that lists all kinds of encoders.

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


PATCHES = (load_encoders,)
