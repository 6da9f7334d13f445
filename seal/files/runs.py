"""
Reads the folder of a run, as `allennlp train -s` leaves it: its settings, what each epoch measured, its scores, and the
machine and versions that trained it.
"""

import glob
import json
import os
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple, Optional

from seal.registry import ConfigurationError

ARCHIVE = "model.tar.gz"
#: A list with an entry for each training of the run, as a killed run is continued by another one: commit, versions,
#: machine and day.
ENVIRONMENT = "environment.json"
#: The scores of a run whose training is over.
_METRICS = "metrics.json"


class Run(NamedTuple):
    """
    A run.

    # Parameters

    name : `str`
        How a report calls it; another one for each run of a report.
    folder : `str`
    config : `dict[str, Any]`
    epochs : `list[dict[str, Any]]`
        The metrics of each epoch that has ended, in order; each has its number, `epoch`, from 0.
    scores : `dict[str, float]`
        Those of the best epoch on validation data and, where the config asks for it, on test data, under their names
        with `validation_` and `test_` before them.
    trainings : `list[dict[str, str]]`
        Those of the file `ENVIRONMENT`.
    """

    name: str
    folder: str
    config: dict[str, Any]
    epochs: list[dict[str, Any]]
    scores: dict[str, float]
    trainings: list[dict[str, str]]

    @property
    def archive(self) -> str:
        """The path of its model; there is none before the run has ended."""
        return os.path.join(self.folder, ARCHIVE)

    @property
    def has_archive(self) -> bool:
        return os.path.isfile(self.archive)

    @property
    def has_ended(self) -> bool:
        """Whether its training is over; it is packed after that."""
        return self.has_archive or os.path.isfile(os.path.join(self.folder, _METRICS))

    def durations(self) -> tuple[Optional[timedelta], dict[str, timedelta]]:
        """
        How long its epochs took, `None` where that is not known; and those of the trainings inside it, of folds and of
        a student, by these names.
        """
        inside = {}
        for name, folders in {"folds": "folds/*", "a student": "student"}.items():
            trained = map(_files_of_epochs, glob.glob(os.path.join(glob.escape(self.folder), folders)))
            lasted = [_duration(_read(files[-1])) for files in trained if files]
            if lasted:
                inside[name] = sum(filter(None, lasted), timedelta())
        return _duration(self.epochs[-1]), inside

    @property
    def validation_metric(self) -> str:
        """The name of the validation metric by which the best epoch is chosen."""
        metric = (self.config.get("trainer") or {}).get("validation_metric", "-loss")
        return str(metric[0] if isinstance(metric, list) else metric).lstrip("+-")

    @property
    def best_epoch(self) -> int:
        """Its number, from 0."""
        return int(self.epochs[-1].get("best_epoch", self.epochs[-1]["epoch"]))

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """The epochs that have a metric, from 1, and its values."""
        found = [(epoch["epoch"] + 1, epoch[name]) for epoch in self.epochs if _is_number(epoch.get(name))]
        return [epoch for epoch, _ in found], [value for _, value in found]


def read_run(path: str, name: str) -> Run:
    """
    The run of a folder, or of the `model.tar.gz` in it. It is an error if no epoch in it has ended, or a file of it
    cannot be read.
    """
    folder = os.path.dirname(path) or "." if os.path.basename(path) == ARCHIVE else path
    if not os.path.isdir(folder):
        raise ConfigurationError(f"{path}: there is no such folder; name that of a run (allennlp train -s FOLDER).")
    files = _files_of_epochs(folder)
    if not files:
        raise ConfigurationError(
            f"{path}: there is no metrics_epoch_0.json; name the folder of a run (allennlp train -s FOLDER) that has "
            "finished an epoch."
        )
    epochs = [{**_read(file), "epoch": _epoch_of(file)} for file in files]
    final = os.path.join(folder, _METRICS)
    last = _read(final) if os.path.isfile(final) else epochs[-1]
    scores = {key.removeprefix("best_"): last[key] for key in last if key.startswith("best_validation_")}
    scores.update((key, value) for key, value in last.items() if key.startswith("test_"))
    scores = {key: value for key, value in scores.items() if _is_number(value)}
    return Run(name, folder, _read(os.path.join(folder, "config.json")), epochs, scores, trainings(folder))


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


def _files_of_epochs(folder: str) -> list[str]:
    return sorted(glob.glob(os.path.join(glob.escape(folder), "metrics_epoch_*.json")), key=_epoch_of)


def _duration(epoch: dict[str, Any]) -> Optional[timedelta]:
    """How long a training took until the end of an epoch, as AllenNLP writes it; `None` where that is not known."""
    duration = epoch.get("training_duration")
    found = re.fullmatch(r"(?:(\d+) days?, )?(\d+):(\d+):(\d+)(?:\.\d*)?", str(duration))
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _epoch_of(path: str) -> int:
    return int(re.sub(r".*metrics_epoch_(\d+)\.json", r"\1", path, flags=re.DOTALL))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: this is not JSON; the run may still be writing it ({error}).") from error
    if not isinstance(found, dict):
        raise ConfigurationError(f"{path}: expected a JSON object, as a run writes it.")
    return found


def trainings(folder: str) -> list[dict[str, str]]:
    """The record of each training of a run; empty for a run that is older than these records."""
    try:
        with open(os.path.join(folder, ENVIRONMENT), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return []
