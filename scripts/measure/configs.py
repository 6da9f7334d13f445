"""The text of a run's config: a call of a function of `training_configs/lib`, and overrides after it."""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

import _jsonnet

from scripts.measure.suite import LIBRARY_FOLDER, Settings, UserError

#: The library of each family of suites, and of those of roles; the configs import it under that name.
LIBRARIES = {
    "srl": "srl.libsonnet",
    "tagging": "tagging.libsonnet",
    "citations": "citation_tagging.libsonnet",
    "text": "text.libsonnet",
    "multilabel": "multilabel.libsonnet",
    "segmentation": "segmentation.libsonnet",
}


#: The prefix of a library's name in a config.
PREFIX = "seal/"


def find_import(folder: str, name: str) -> tuple[str, bytes]:
    """Jsonnet's `import_callback`, as `seal.allennlp.config_imports` has it, which waits for AllenNLP's import."""
    path = LIBRARY_FOLDER / name.removeprefix(PREFIX) if name.startswith(PREFIX) else Path(folder, name)
    try:
        return str(path), path.read_bytes()
    except OSError as error:
        raise RuntimeError(error.strerror) from error


def text(value: str) -> str:
    """A string as jsonnet writes it."""
    return json.dumps(value, ensure_ascii=False)


def imported(name: str, file: Optional[str] = None) -> str:
    """The import of a library, under the name of its file or another, at the start of a config."""
    return f"local {name} = import '{PREFIX}{file or name}.libsonnet';\n\n"


def call(function: str, arguments: dict[str, str]) -> str:
    """A call with named arguments, each a jsonnet expression, one a line."""
    lines = "".join(f"  {name}={expression},\n" for name, expression in arguments.items())
    return f"{function}(\n{lines})\n"


def taken(more: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    """Removes the settings with these names from `more`, and returns them."""
    return {name: more.pop(name) for name in names if name in more}


# The JSON text of what was evaluated: the libraries do not change while a script runs.
_EVALUATED: dict[str, str] = {}


def evaluated(source: str) -> Any:
    """
    The value of a jsonnet expression, whose imports name the library or have absolute paths; evaluated once in a
    process. Raises `RuntimeError` if it cannot be evaluated.
    """
    if source not in _EVALUATED:
        _EVALUATED[source] = _evaluate(source)
    return json.loads(_EVALUATED[source])


def _evaluate(source: str) -> str:
    return _jsonnet.evaluate_snippet("config", source, import_callback=find_import)


def library_value(library: str, expression: str) -> Any:
    """The value of an expression in which `lib` is a file of `training_configs/lib`."""
    return evaluated(f"local lib = import '{PREFIX}{library}'; {expression}")


def parse_overrides(source: str) -> dict[str, Any]:
    """
    The object of `--overrides`, as `allennlp train` takes it: keys are dotted paths. `METHOD:path` is for one
    method only.
    """
    try:
        overrides = json.loads(source)
    except ValueError as error:
        raise UserError(f"--overrides is not JSON ({error}).") from error
    if not isinstance(overrides, dict):
        raise UserError('--overrides must be a JSON object, such as {"trainer.patience": 3}.')
    return overrides


def listed(sign: str, values: dict[str, Any]) -> str:
    """Names and jsonnet values as they stand in an object (`": "`) or in a call (`"="`)."""
    return ", ".join(f"{name}{sign}{value}" for name, value in values.items())


def setting_value(expression: str, family: Optional[str] = None) -> Any:
    """
    The value of a jsonnet expression of `--settings`. It may name the library of its suite's `family`, as the
    config does: `tagging.energies(tagging.whole.ge_b)`. Raises `RuntimeError` if it cannot be evaluated.
    """
    with suppress(ValueError):
        return json.loads(expression)  # As nearly all are; jsonnet takes a hundred times as long.
    library = ""
    if family is not None:
        library = f"local {family} = import '{PREFIX}{LIBRARIES[family]}'; "
    return evaluated(library + expression)


def reason(error: RuntimeError) -> str:
    """The message of a jsonnet error, without its place."""
    return re.sub(r"^(RUNTIME|STATIC) ERROR: (\S+:[\d:()-]+: )?", "", str(error).splitlines()[0]).rstrip(".")


def not_evaluated(error: RuntimeError) -> UserError:
    """The error to raise where a config cannot be evaluated with the values of `--settings`."""
    return UserError(f"--settings: the config cannot be evaluated with them ({reason(error)}).")


def parse_settings(source: str, family: Optional[str] = None) -> dict[str, str]:
    """
    The names and jsonnet values of `--settings`: `name=value` or, for one method only, `METHOD:name=value`,
    separated by commas. A value may have commas of its own, and name the library of the suites' `family`.
    """
    settings: dict[str, str] = {}
    for part in re.split(r",(?=\s*[A-Za-z_][\w:]*\s*=)", source):
        if not part.strip():
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not re.fullmatch(r"(\w+:)?[A-Za-z_]\w*", key):
            raise UserError(f"--settings: '{part.strip()}' is not name=value or METHOD:name=value.")
        if key in settings:
            raise UserError(f"--settings: '{key}' is set twice.")
        try:
            setting_value(value, family)
        except RuntimeError as error:
            raise UserError(f"--settings: '{value}' is not a jsonnet value ({reason(error)}).") from error
        settings[key] = value
    return settings


def settings_of(method: str, settings: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The settings of `parse_settings` for `method`; a value for it alone takes precedence over one for all."""
    common = {key: value for key, value in settings.items() if ":" not in key}
    own = {key: value for key, value in settings.items() if key.startswith(f"{method}:")}
    return tuple({**common, **overrides_of(method, own)}.items())


def overrides_of(method: str, overrides: dict[str, Any]) -> dict[str, Any]:
    """The overrides of `parse_overrides` for `method`, by path."""
    chosen = {}
    for key, value in overrides.items():
        name, colon, path = key.rpartition(":")
        if not colon or name == method:
            chosen[path] = value
    return chosen


def given_of(method: str, settings: Settings, overrides: dict[str, Any]) -> dict[str, str]:
    """All that the command line sets in a run's config, by name; values are jsonnet."""
    given = {"epochs": str(settings.epochs)}
    if settings.fraction != 1:
        given["fraction"] = str(settings.fraction)
    if settings.encoder is not None:
        given["encoder"] = text(settings.encoder)
    own = overrides_of(method, overrides)
    return {**given, **dict(settings.more), **{path: json.dumps(value) for path, value in own.items()}}


def own_names(method: str, *options: dict[str, Any]) -> tuple[str, ...]:
    """The names that the results of `parse_settings` and `parse_overrides` set for `method` alone."""
    keys = [key.rpartition(":") for option in options for key in option]
    return tuple(name for owner, _, name in keys if owner == method)


def with_overrides(config: str, overrides: dict[str, Any]) -> str:
    """The config with each dotted path of `overrides` set, everything beside it kept."""
    if not overrides:
        return config
    tree: dict[str, Any] = {}
    for path, value in overrides.items():
        *above, last = path.split(".")
        if any(part.isdigit() for part in path.split(".")):
            raise UserError(f"--overrides: '{path}' names an element of a list; set the whole list.")
        node = tree
        for part in above:
            node = node.setdefault(part, {})
            if isinstance(node, _Leaf):
                raise UserError(f"--overrides: '{path}' lies inside another key that is set.")
        if last in node:
            raise UserError(f"--overrides: '{path}' is set twice.")
        node[last] = _Leaf(value)
    return f"{config.rstrip()} + {_object(tree, '')}\n"


class _Leaf:
    def __init__(self, value: Any) -> None:
        self.value = value


def _object(tree: dict[str, Any], indent: str) -> str:
    inner = indent + "  "
    lines = []
    for name, node in tree.items():
        field = name if re.fullmatch(r"[A-Za-z_]\w*", name) else text(name)
        if isinstance(node, _Leaf):
            lines.append(f"{inner}{field}: {json.dumps(node.value)},\n")
        else:
            lines.append(f"{inner}{field}+: {_object(node, inner)},\n")
    return "{\n" + "".join(lines) + indent + "}"
