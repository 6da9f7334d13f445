"""
Models by their name on the hub of Hugging Face, wherever a command takes an archive: `hf://USER/MODEL`.
"""

from collections.abc import Callable
from typing import Any

from allennlp.common import file_utils
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival

from seal.allennlp.replacing import replace_once

HUB = "hf://"


def take_archives_from_the_hub() -> None:
    """
    Patches: `allennlp.models.archival.cached_path`.

    Symptom: `hf://USER/MODEL` downloads all that is in the repository and reads it as a folder, whose config is
    evaluated as jsonnet and may name any class; `safe_archives` guards archives. For a name that the hub does not know
    there is a traceback, and without a network one after half a minute of attempts, each with two warnings.

    Can go: when AllenNLP takes the archive alone, and says what is wrong.
    """

    def cached_path(original: Callable, path: Any, cache_dir: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not str(path).startswith(HUB):
            return original(path, cache_dir, *args, **kwargs)
        parts = str(path).removeprefix(HUB).strip("/").split("/")
        if len(parts) == 2:
            parts.append("model.tar.gz")
        if len(parts) < 3 or not parts[-1].endswith(".tar.gz"):
            raise ConfigurationError(
                f"{path}: name a model of the hub as hf://USER/MODEL, or its archive as hf://USER/MODEL/FILE.tar.gz; "
                "@REVISION may follow MODEL."
            )
        import huggingface_hub
        from huggingface_hub import errors

        model, _, revision = "/".join(parts[:2]).partition("@")
        try:
            return huggingface_hub.hf_hub_download(
                model,
                "/".join(parts[2:]),
                revision=revision or None,
                cache_dir=cache_dir or file_utils.CACHE_DIRECTORY,
                local_files_only=not _hub_answers(),
            )
        except errors.LocalEntryNotFoundError as error:
            raise ConfigurationError(
                f"{path}: the hub cannot be reached, and the model was not downloaded before; download {parts[-1]} "
                "where there is a network, and name the file."
            ) from error
        except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.HFValidationError) as error:
            sentence = f"{path}: the hub has no such model, or only for users who log in to it."
            raise ConfigurationError(sentence) from error
        except errors.EntryNotFoundError as error:
            raise ConfigurationError(f"{path}: this model of the hub has no file {'/'.join(parts[2:])}.") from error

    replace_once(archival, "cached_path", cached_path)


def _hub_answers() -> bool:
    """Whether the hub can be reached: asked once, where a download would be tried six times."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=5)
    except OSError:
        # requests' errors are those, and that of HF_HUB_OFFLINE.
        return False
    return True


PATCHES = (take_archives_from_the_hub,)
