"""
Finds the archive of a model by its name: `english-srl`, a model that comes with this package, or `hf://USER/MODEL`, a
model of the hub of Hugging Face. Every command and function that takes an archive also takes such a name.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

from allennlp.common import file_utils
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival

from seal.allennlp.replacing import replace_once

HUB = "hf://"
ENDING = ".tar.gz"
#: The folder of the models that come with the package. The name of an archive is the name of the model.
READY_MODELS = Path(__file__).resolve().parents[1] / "ready_models"


def ready_models() -> dict[str, str]:
    """The archives of the models that come with the package, by their names."""
    return {path.name.removesuffix(ENDING): str(path) for path in sorted(READY_MODELS.glob(f"*{ENDING}"))}


def ready_model(name: str) -> Optional[str]:
    """The archive of a model that comes with the package; `None` if there is none, or if a file has this name."""
    return None if os.path.exists(name) else ready_models().get(name)


def model_path(name: Any, cache_dir: Any = None) -> str:
    """
    The local path of a model: an archive, or the folder of a run.

    # Parameters

    name : `str`
        An existing path is taken literally. Otherwise it is the name of a model that comes with the package, or
        `hf://USER/MODEL` or a URL, whose archive is downloaded.
    cache_dir : `str`, optional (default = `None`)
        The folder of downloads.

    # Raises

    `ConfigurationError` if there is no model of this name, here or on the hub; `FileNotFoundError` if a path does not
    exist.
    """
    return archival.cached_path(os.fspath(name), cache_dir)


def take_models_by_name() -> None:
    """
    Patches: `allennlp.models.archival.cached_path`.

    Symptom: AllenNLP reports that the file `english-srl` does not exist. For `hf://USER/MODEL` it downloads the whole
    repository and reads it as a folder, whose config is evaluated as jsonnet and may name any class; `safe_archives`
    checks archives only. A name that is not on the hub ends in a traceback. Without a network the traceback comes after
    half a minute of attempts, each with two warnings.

    Can go: when AllenNLP downloads the archive alone, and reports what is wrong.
    """

    def cached_path(original: Callable, path: Any, cache_dir: Any = None, *args: Any, **kwargs: Any) -> Any:
        name = os.fspath(path)
        if os.path.exists(name):
            return name
        if name.startswith(HUB):
            return _of_the_hub(name, cache_dir)
        # A name with a slash is a path or a URL.
        if "/" in name or os.sep in name:
            return original(path, cache_dir, *args, **kwargs)
        found = ready_model(name)
        if found is None:
            known = ", ".join(ready_models())
            raise ConfigurationError(
                f"{name}: there is no such file or folder, and no model of this name; the models that come with seal "
                f"are {known or 'none here'}."
            )
        return found

    replace_once(archival, "cached_path", cached_path)


def _of_the_hub(path: str, cache_dir: Any) -> str:
    parts = path.removeprefix(HUB).strip("/").split("/")
    if len(parts) == 2:
        parts.append("model.tar.gz")
    if len(parts) < 3 or not parts[-1].endswith(ENDING):
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


def _hub_answers() -> bool:
    """Whether the hub answers one request. A download would be tried six times."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=5)
    except OSError:
        # Also the errors of requests, and the error that HF_HUB_OFFLINE causes.
        return False
    return True


PATCHES = (take_models_by_name,)
