"""
What the runs of a page were trained with, as each of them noted it: the commit, the machine and the day. And
whether their configs, which only call the library of `training_configs`, still say what they said then.
"""

import json
import threading
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import _jsonnet

from scripts.measure import machine
from scripts.measure.files import read_json, write_json
from scripts.measure.suite import ROOT

UNKNOWN = "unknown (before runs recorded it)"
MISSING = object()
NAMED = 5
"""So many keys are named in a sentence, the others counted."""

# The machine is known to torch, and two threads had better not import it at once.
_noting = threading.Lock()


def note_training(
    folder: Path, recover: bool, given: Optional[Dict[str, str]] = None, own: Sequence[str] = ()
) -> None:
    """
    Notes in the run's folder what its training begins with, the settings it was `given`, and which of them are its
    method's `own`. A training that goes on after a kill is one more in the list: the commit may be another, and its
    clock starts again.
    """
    # An empty one stands for the training that goes on, if that noted nothing.
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
    """Where a training goes on, from 0: AllenNLP names the two files of a checkpoint by the epochs behind it."""
    files, states = (
        {path.stem.removeprefix(kind) for path in model.glob(f"{kind}e*_b*.th")}
        for kind in ("model_state_", "training_state_")
    )
    return max((int(name[1:].partition("_b")[0]) for name in files & states), default=0)


def trainings(folder: Path) -> List[Dict[str, Any]]:
    """What was noted of each training of a run; nothing of a run that is older than these notes."""
    return _noted(folder).get("trainings", [])


def given(folder: Path) -> Tuple[Optional[Dict[str, str]], List[str]]:
    """The settings that a run was given, `None` where it did not note them, and the names of its method's own."""
    noted = _noted(folder)
    return noted.get("given"), noted.get("own", [])


def _noted(folder: Path) -> Dict[str, Any]:
    path = folder / "run.json"
    return read_json(path) if path.is_file() else {}


def facts(folders: Sequence[Path]) -> Dict[str, str]:
    """
    What the runs were trained with, and how many with each, by heading.
    """
    noted = [trainings(folder) or [{}] for folder in folders]
    told: Dict[str, str] = {}
    for heading, key in (("commits", "commit"), ("torch", "torch"), ("machines", "machine")):
        counts: Dict[str, int] = {}
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
    How the config of a run that was begun reads now, where that is not what it was trained with; else
    nothing. AllenNLP writes the evaluated config as it is, its keys in another order.
    """
    config, trained = folder / "config.jsonnet", folder / "model" / "config.json"
    if not (config.is_file() and trained.is_file()):
        return ""
    try:
        now = json.loads(_evaluated(str(config), config.stat().st_mtime_ns, _library_changed()))
    except RuntimeError as error:
        # Moved elsewhere, or a method of another name by now.
        reason = str(error).splitlines()[0].partition("; ")[0]
        return f"by a config that cannot be evaluated any more ({reason})"
    keys = list(_differing(read_json(trained), now))
    if not keys:
        return ""
    more = f" and {len(keys) - NAMED} more keys" if len(keys) > NAMED else ""
    return f"with other values of {', '.join(keys[:NAMED])}{more} than training_configs/lib now gives"


def changes(folders: Sequence[Path]) -> List[str]:
    """A sentence for those trained runs that the same command would train otherwise now, or could not."""
    names: Dict[str, List[str]] = {}
    for folder in folders:
        how = difference(folder)
        if how:
            names.setdefault(how, []).append(folder.name)
    return [f"{', '.join(found)}: trained {how}." for how, found in names.items()]


def _differing(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """The dotted paths of what is not the same; a list counts as one value."""
    if not (isinstance(before, dict) and isinstance(now, dict)):
        if before != now:
            yield path
        return
    for key in sorted({*before, *now}):
        inner = f"{path}.{key}" if path else key
        yield from _differing(before.get(key, MISSING), now.get(key, MISSING), inner)


@lru_cache(maxsize=None)
def _evaluated(config: str, changed: int, library_changed: int) -> str:
    """The config as JSON; kept, since the page follows each run. The times only tell versions apart."""
    return _jsonnet.evaluate_file(config)


def _library_changed() -> int:
    return max(path.stat().st_mtime_ns for path in (ROOT / "training_configs" / "lib").rglob("*.libsonnet"))
