"""
Reads a config and its overrides: it must be an object, and what jsonnet or AllenNLP refuses is one sentence.
"""

import json
import logging
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

from allennlp.common import params as allennlp_params

from seal.cli.library_calls import explained
from seal.common.setting_checks import check_that
from seal.files.paths import local_path
from seal.registry import ConfigurationError

logger = logging.getLogger(__name__)


def read_config(path: str, overrides: str = "") -> dict[str, Any]:
    """
    What a file of jsonnet says, with the overrides of the command line.

    # Raises

    `ConfigurationError` if one of the two cannot be evaluated or is no object, or the config lacks what is overridden.
    """
    if os.path.isdir(path):
        raise ConfigurationError(f"{path}: a config is a file, and this is a folder")
    path = local_path(path)
    try:
        text = allennlp_params.evaluate_file(path, ext_vars=allennlp_params._environment_variables())
    except (RuntimeError, ValueError) as error:
        raise ConfigurationError(_of_jsonnet(error)) from error
    config = json.loads(text)
    check_that(isinstance(config, dict), f"{path}: a config", "an object", config)
    return _with_floats(overridden(config, overrides))


def overridden(config: dict[str, Any], overrides: str) -> dict[str, Any]:
    """
    A config with the overrides of the command line. `config` is left as it is.

    # Raises

    `ConfigurationError` if they are no object, or `config` lacks what they name.
    """
    try:
        result = allennlp_params.with_overrides(config, read_overrides(overrides))
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    now = _callbacks(result)
    dropped = [name for name in _callbacks(config) if name not in now]
    if dropped:
        logger.warning(
            "--overrides: its trainer.callbacks replaces the config's list and drops '%s'; name it in yours to keep it",
            "', '".join(dropped),
        )
    return result


def read_overrides(text: str) -> dict[str, Any]:
    """
    The object that overrides are.

    # Raises

    `ConfigurationError` if they are none.
    """
    try:
        found = allennlp_params.parse_overrides(text)
    except (RuntimeError, ValueError) as error:
        if text.lstrip().startswith("{"):
            raise ConfigurationError(_of_jsonnet(error)) from error
        example = '{"trainer.num_epochs": 5}'
        raise ConfigurationError(f"--overrides must be a JSON object, such as '{example}', found {text}") from None
    check_that(isinstance(found, dict), "--overrides", "an object", found)
    return found


# What the library of configs calls a path of data.
_DATA_ARGUMENTS = {
    "train_data_path": ("train",),
    "validation_data_path": ("dev", "valid"),
    "test_data_path": ("test",),
}


def place_of(key: str, path: str, source: Optional[str]) -> str:
    """
    Where a config has a path of data: the line and the key under which the file `source` writes it, if that is another
    one than `key` of the evaluated config, such as the argument of a function.
    """
    if source is not None:
        with suppress(OSError, UnicodeDecodeError):
            text = Path(source).read_text(encoding="utf-8")
            written = re.finditer(rf"""\b(\w+)['"]?\s*\+?[:=]\s*(['"]){re.escape(path)}\2""", text)
            found = {match[1]: text.count("\n", 0, match.start(1)) + 1 for match in written}
            names = [name for name in _DATA_ARGUMENTS[key] if name in found] or [*found]
            if names and key not in found:
                return f'{source}:{found[names[0]]}: "{names[0]}"'
    return f'config key "{key}"'


def _with_floats(found: Any) -> Any:
    """Jsonnet writes 1e300 with all its zeros, as a whole number that is too large for torch."""
    if isinstance(found, dict):
        return {key: _with_floats(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_with_floats(value) for value in found]
    return float(found) if type(found) is int and abs(found) >= 2**63 else found


def _callbacks(config: dict[str, Any]) -> list[str]:
    trainer = config.get("trainer")
    callbacks = trainer.get("callbacks") if isinstance(trainer, dict) else None
    listed = callbacks if isinstance(callbacks, list) else ()
    named = [item.get("type") if isinstance(item, dict) else item for item in listed]
    return [name for name in named if isinstance(name, str)]


def _of_jsonnet(error: Exception) -> str:
    """Jsonnet's report as `file:line:column: message`. It has the message, and then a line for each stack frame."""
    kind, _, message = str(error).partition("ERROR: ")
    if not message:
        return kind
    if kind == "RUNTIME ":
        message, _, stack = message.partition("\n")
        place = stack.split("\n")[0].strip().split("\t")[0]
        message = f"{place}: {explained(message, place)}" if place else message
    # Text from the command line has no file name before its line number.
    return f"--overrides, at {message.lstrip(':')}" if re.match(r":?\d+:\d+", message) else message
