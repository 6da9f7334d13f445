"""
The commit, machine and day of each run of a page, as the run recorded it; and a check that the configs, which call the
library of `training_configs`, still evaluate to the same.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional

import _jsonnet

from scripts.measure import machine
from scripts.measure.configs import find_import
from scripts.measure.files import read_json, write_json
from scripts.measure.suite import LIBRARY_FOLDER

UNKNOWN = "unknown (before runs recorded it)"
MISSING = object()
NAMED = 5
"""The number of keys that a sentence names; further ones are only counted."""
NOTED = {"pieces": "in_sentence"}
"""The keys that training adds to a run's config."""

# Torch is asked for the machine's GPU, and two threads should not import torch at once.
_noting = threading.Lock()


def note_training(folder: Path, recover: bool, given: Optional[dict[str, str]] = None, own: Sequence[str] = ()) -> None:
    """
    Records in the run's folder what its training begins with, the settings it was `given`, and which of them are for
    its method alone (`own`). A training that is resumed after a kill is a further entry in the list: the commit may be
    another one, and its clock starts again.
    """
    # An empty entry stands for the training that is resumed, if that recorded nothing.
    before = (trainings(folder) or [{}]) if recover else []
    with _noting:
        now = {
            "commit": machine.commit(),
            "torch": machine.torch_version(),
            "machine": machine.machine(),
            "begun": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "first_epoch": _first_epoch(folder / "model") if recover else 0,
        }
    write_json(folder / "run.json", {"given": given or {}, "own": list(own), "trainings": [*before, now]})


def _first_epoch(model: Path) -> int:
    """
    The epoch, from 0, at which a training is resumed: AllenNLP names the two files of a checkpoint by the number of
    epochs that were completed.
    """
    files, states = (
        {path.stem.removeprefix(kind) for path in model.glob(f"{kind}e*_b*.th")}
        for kind in ("model_state_", "training_state_")
    )
    return max((int(name[1:].partition("_b")[0]) for name in files & states), default=0)


def trainings(folder: Path) -> list[dict[str, Any]]:
    """The record of each training of a run; empty for a run that is older than these records."""
    return _noted(folder).get("trainings", [])


def given(folder: Path) -> tuple[Optional[dict[str, str]], list[str]]:
    """The settings that a run was given, `None` if not recorded, and the names of those for its method alone."""
    noted = _noted(folder)
    return noted.get("given"), noted.get("own", [])


def _noted(folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    return read_json(path) if path.is_file() else {}


def facts(folders: Sequence[Path]) -> dict[str, str]:
    """The commits, machines and days of the runs with their numbers of runs, by heading."""
    noted = [trainings(folder) or [{}] for folder in folders]
    told: dict[str, str] = {}
    for heading, key in (("commits", "commit"), ("torch", "torch"), ("machines", "machine")):
        counts: dict[str, int] = {}
        for run in noted:
            for value in {training.get(key, UNKNOWN) for training in run}:
                counts[value] = counts.get(value, 0) + 1
        if counts:
            told[f"{heading} of the runs"] = "; ".join(
                f"{value}, {count} run{'s' * (count > 1)}" for value, count in sorted(counts.items())
            )
    days = sorted(training["begun"][:10] for run in noted for training in run if "begun" in training)
    if days:
        told["training began"] = " to ".join(dict.fromkeys([days[0], days[-1]]))
    return told


def difference(folder: Path) -> str:
    """
    How a run's config, evaluated now, differs from the one that the run was trained with: the end of a sentence, empty
    where they are equal or where no training was begun. The latter is AllenNLP's file of the evaluated config, which
    differs only in the order of its keys.
    """
    config, trained = folder / "config.jsonnet", folder / "model" / "config.json"
    if not (config.is_file() and trained.is_file()):
        return ""
    try:
        now = json.loads(_evaluated(str(config), config.stat().st_mtime_ns, _library_changed()))
    except RuntimeError as error:
        # The run was moved, or its method has another name by now.
        reason = str(error).splitlines()[0].partition("; ")[0]
        return f"by a config that cannot be evaluated any more ({reason})"
    keys = list(_differing(read_json(trained), now))
    if not keys:
        return ""
    more = f" and {len(keys) - NAMED} more keys" if len(keys) > NAMED else ""
    return f"with other values of {', '.join(keys[:NAMED])}{more} than training_configs/lib now gives"


def changes(folders: Sequence[Path]) -> list[str]:
    """Sentences that name the runs that the same command would now train with another config, or could not train."""
    names: dict[str, list[str]] = {}
    for folder in folders:
        how = difference(folder)
        if how:
            names.setdefault(how, []).append(folder.name)
    return [f"{', '.join(found)}: trained {how}." for how, found in names.items()]


def _differing(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """The dotted paths of different values; a list counts as one value."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        if before != now:
            yield path
        return
    for key in sorted({*before, *now}):
        inner = f"{path}.{key}" if path else key
        yield from _differing(before.get(key, MISSING), now.get(key, NOTED.get(key, MISSING)), inner)


@lru_cache(maxsize=None)
def _evaluated(config: str, changed: int, library_changed: int) -> str:
    """The config as JSON; cached, as a page is written after each run. The times only distinguish versions of files."""
    return _jsonnet.evaluate_file(config, import_callback=find_import)


def _library_changed() -> int:
    return max(path.stat().st_mtime_ns for path in LIBRARY_FOLDER.rglob("*.libsonnet"))
