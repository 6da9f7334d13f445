"""Runs side by side: what tells them apart, the settings in which they differ, and how long they took."""

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
    How long its epochs took, `None` where that is not known; and those of the trainings inside it, of folds and of
    a student, by these names.
    """
    inside = {}
    for name, folders in {"folds": "folds/*", "a student": "student"}.items():
        trained = map(files_of_epochs, glob.glob(os.path.join(glob.escape(run.folder), folders)))
        lasted = [_duration(read_file(files[-1])) for files in trained if files]
        if lasted:
            inside[name] = sum(filter(None, lasted), timedelta())
    return _duration(run.epochs[-1]), inside


def _duration(epoch: dict[str, Any]) -> Optional[timedelta]:
    """How long a training took until the end of an epoch, as AllenNLP writes it; `None` where that is not known."""
    duration = epoch.get("training_duration")
    found = re.fullmatch(r"(?:(\d+) days?, )?(\d+):(\d+):(\d+)(?:\.\d*)?", str(duration))
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def names_of(paths: list[str]) -> list[str]:
    """What tells runs apart: the ends of their paths, as short as may be."""
    # Of `.` or `..` the path itself says nothing.
    parts = [os.path.normpath(os.path.abspath(path) if path.startswith(".") else path).split(os.sep) for path in paths]
    parts = [part[:-1] if part[-1] == ARCHIVE else part for part in parts]
    # That of scripts/reproduce.py is the folder `model` of a folder with the method's name.
    parts = [part[:-1] if part[-1] == "model" and len(part) > 1 else part for part in parts]
    for length in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    raise ConfigurationError("a run is named twice; name each once.")


def settings(config: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The settings of a config by their dotted keys, in order; a list counts as one value."""
    if isinstance(config, dict) and config:
        for key, value in config.items():
            yield from settings(value, f"{path}.{key}" if path else key)
    else:
        yield path, config


def differences(runs: list[Run]) -> dict[str, list[Any]]:
    """The settings in which runs differ, by key: the value of each run, `MISSING` where it has none."""
    flat = [dict(settings(run.config)) for run in runs]
    keys = dict.fromkeys(key for config in flat for key in config)
    table = {key: [config.get(key, MISSING) for config in flat] for key in keys}
    return {key: values for key, values in table.items() if any(value != values[0] for value in values)}


#: The value of a setting that a run does not have.
MISSING = object()
