"""Compares runs: their names, the settings in which they differ, and their durations."""

import glob
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Optional

from seal.files.runs import ARCHIVE, Run, files_of_epochs, read_file
from seal.registry import ConfigurationError


def durations(run: Run) -> tuple[Optional[timedelta], dict[str, timedelta]]:
    """
    The duration of a run's epochs, `None` if unknown; and the durations of the trainings inside it, by the names
    `folds` and `a student`.
    """
    inside = {}
    for name, folders in {"folds": "folds/*", "a student": "student"}.items():
        trained = map(files_of_epochs, glob.glob(os.path.join(glob.escape(run.folder), folders)))
        lasted = [_duration(read_file(files[-1])) for files in trained if files]
        if lasted:
            inside[name] = sum(filter(None, lasted), timedelta())
    return _duration(run.epochs[-1]), inside


def _duration(epoch: dict[str, Any]) -> Optional[timedelta]:
    """The duration of a training until the end of an epoch, from AllenNLP's metrics; `None` if unknown."""
    duration = epoch.get("training_duration")
    found = re.fullmatch(r"(?:(\d+) days?, )?(\d+):(\d+):(\d+)(?:\.\d*)?", str(duration))
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def names_of(paths: list[str]) -> list[str]:
    """Distinct names for runs: the shortest different ends of their paths."""
    # `.` and `..` are resolved first.
    parts = [os.path.normpath(os.path.abspath(path) if path.startswith(".") else path).split(os.sep) for path in paths]
    parts = [part[:-1] if part[-1] == ARCHIVE else part for part in parts]
    # scripts/reproduce.py writes a run to the folder `model` inside a folder with the method's name.
    parts = [part[:-1] if part[-1] == "model" and len(part) > 1 else part for part in parts]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise ConfigurationError("a run is named twice; name each once.")


def settings(config: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The settings of a config by their dotted keys, in order; a list is one value."""
    if isinstance(config, dict) and config:
        for key, value in config.items():
            yield from settings(value, f"{path}.{key}" if path else key)
    else:
        yield path, config


def differences(runs: list[Run]) -> dict[str, list[Any]]:
    """The settings in which runs differ, by key: a value for each run, or `MISSING`."""
    flat = [dict(settings(run.config)) for run in runs]
    keys = dict.fromkeys(key for config in flat for key in config)
    table = {key: [config.get(key, MISSING) for config in flat] for key in keys}
    return {key: values for key, values in table.items() if any(value != values[0] for value in values)}


#: The value of a missing setting.
MISSING = object()
