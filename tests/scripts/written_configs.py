"""What the tests of scripts share: configs that a script writes, and their values."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Optional

import _jsonnet

from scripts.measure.configs import find_import
from scripts.measure.suite import Settings, Suite

ROOT = Path(__file__).resolve().parents[2]
#: A value for each argument of a method that takes no number, or has a limit; none is a default.
VALUES = {
    "cost": "'hamming'",
    "fine_tune_epochs": "2",
    "fresh_batches": "true",
    "inference_optimizer": "'adam'",
    "last_layer": "true",
    "log_space": "true",
    "q": "{ type: 'pass_through', input_dim: 26 }",
    "share_encoder": "true",
    "straight_through": "true",
    "truncation": "true",
    "weights": "{ once: 2 }",
}


def evaluated(text: str, folder: Path = ROOT / "training_configs") -> dict[str, Any]:
    """The value of a config of that folder, which need not be there: imports are relative to it."""
    return evaluated_together([text], folder)[0]


def evaluated_together(texts: Iterable[str], folder: Path = ROOT / "training_configs") -> list[dict[str, Any]]:
    """As each for itself, at a tenth of the time: what all of them import is read once."""
    source = "[" + ",".join(f"({text}\n)" for text in texts) + "]"
    return json.loads(_jsonnet.evaluate_snippet(str(folder / "config.jsonnet"), source, import_callback=find_import))


def settings_of(suite: Suite, *more: tuple[str, str], encoder: Optional[str] = None) -> Settings:
    return Settings(seed=13, epochs=suite.epochs, fraction=1.0, encoder=encoder, more=more)


def assert_kept(suite: Suite, paths: dict[str, Path]) -> None:
    """What a suite writes of these methods are the configs of the files, which are in one folder."""
    written = evaluated_together(suite.methods[name].write(settings_of(suite)) for name in paths)
    folder = next(iter(paths.values())).parent
    kept = evaluated_together((path.read_text(encoding="utf-8") for path in paths.values()), folder)
    assert dict(zip(paths, written)) == dict(zip(paths, kept))


def with_every_argument(
    suite: Suite, method: str, arguments: Sequence[str], *more: tuple[str, str], values: dict[str, str] = VALUES
) -> list[dict[str, Any]]:
    """The plain config of a method, and with each of `more` settings. Each argument is checked to change the config."""
    given = [(name, values.get(name, "7")) for name in arguments]
    settings = [(), *((pair,) for pair in (*given, *more))]
    plain, *others = evaluated_together(suite.methods[method].write(settings_of(suite, *pairs)) for pairs in settings)
    changed = others[: len(given)]
    assert len(changed) == len(arguments)
    assert plain not in changed, (method, arguments[changed.index(plain)])
    return [plain, *others[len(given) :]]
