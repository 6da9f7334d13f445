"""
Models by their name on the hub of Hugging Face, wherever a command takes an archive: `hf://USER/MODEL`.
"""

from collections.abc import Callable
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.models import archival

from seal.patches.replacing import replace_once

HUB = "hf://"


def take_archives_from_the_hub() -> None:
    """
    Patches: `allennlp.models.archival.cached_path`.

    Symptom: `hf://USER/MODEL` downloads all that is in the repository and reads it as a folder, whose config is
    evaluated as jsonnet and may name any class; `safe_archives` guards archives. Without a network, and for a name
    that the hub does not know, there is a traceback.

    Can go: when AllenNLP takes the archive alone, and says what is wrong.
    """

    def cached_path(original: Callable, path: Any, *args: Any, **kwargs: Any) -> Any:
        if not str(path).startswith(HUB):
            return original(path, *args, **kwargs)
        parts = str(path).removeprefix(HUB).strip("/").split("/")
        if len(parts) == 2:
            parts.append("model.tar.gz")
        if len(parts) < 3 or not parts[-1].endswith(".tar.gz"):
            raise ConfigurationError(
                f"{path}: name a model of the hub as hf://USER/MODEL, or its archive as hf://USER/MODEL/FILE.tar.gz; "
                "@REVISION may follow MODEL."
            )
        from huggingface_hub.errors import (
            EntryNotFoundError,
            HFValidationError,
            LocalEntryNotFoundError,
            RepositoryNotFoundError,
            RevisionNotFoundError,
        )

        try:
            return original(HUB + "/".join(parts), *args, **kwargs)
        except LocalEntryNotFoundError as error:
            raise ConfigurationError(
                f"{path}: the hub cannot be reached, and the model was not downloaded before; download {parts[-1]} "
                "where there is a network, and name the file."
            ) from error
        except (RepositoryNotFoundError, RevisionNotFoundError, HFValidationError) as error:
            sentence = f"{path}: the hub has no such model, or only for users who log in to it."
            raise ConfigurationError(sentence) from error
        except EntryNotFoundError as error:
            raise ConfigurationError(f"{path}: this model of the hub has no file {'/'.join(parts[2:])}.") from error

    replace_once(archival, "cached_path", cached_path)


PATCHES = (take_archives_from_the_hub,)
