"""Reads a config with its overrides, and makes one-line messages of the errors of jsonnet."""

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
    Evaluates a config in jsonnet, and applies the overrides of the command line.

    # Raises

    `ConfigurationError` if the config or the overrides cannot be evaluated or are not objects, or if the config lacks a
    key that is overridden.
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
    Returns a copy of a config with the overrides of the command line.

    # Raises

    `ConfigurationError` if the overrides are not an object, or `config` lacks a key that they name.
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
    Parses overrides, a JSON object.

    # Raises

    `ConfigurationError` if the text is not a JSON object.
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


# The names of the paths of data in the library of configs.
_DATA_ARGUMENTS = {
    "train_data_path": ("train",),
    "validation_data_path": ("dev", "valid"),
    "test_data_path": ("test",),
}


def place_of(key: str, path: str, source: Optional[str]) -> str:
    """
    The place of a path of data in a config, for messages. If the file `source` has the path as an argument of a
    function, it is the line and the name of the argument; otherwise the key of the evaluated config.
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
    """Converts whole numbers that are too large for torch to floats: jsonnet writes 1e300 with all its zeros."""
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
    """Converts an error of jsonnet, a message followed by its stack frames, to `file:line:column: message`."""
    kind, _, message = str(error).partition("ERROR: ")
    if not message:
        return kind
    if kind == "RUNTIME ":
        message, _, stack = message.partition("\n")
        place = stack.split("\n")[0].strip().split("\t")[0]
        message = f"{place}: {explained(message, place)}" if place else message
    # Text from the command line has no file name before its line number.
    return f"--overrides, at {message.lstrip(':')}" if re.match(r":?\d+:\d+", message) else message
