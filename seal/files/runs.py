"""
Reads the folder of a training run: its config, the metrics of each epoch, its scores, and the environments of its
trainings.
"""

import glob
import json
import os
import re
from typing import Any, NamedTuple

from seal.registry import ConfigurationError

ARCHIVE = "model.tar.gz"
#: A file with a list of environments (commit, versions, machine and day): one for each start of the run, which may be
#: continued after an interruption.
ENVIRONMENT = "environment.json"
#: The file with the scores of a finished training.
_METRICS = "metrics.json"


class Run(NamedTuple):
    """
    A run.

    # Parameters

    name : `str`
        The unique name of the run in a report.
    folder : `str`
    config : `dict[str, Any]`
    epochs : `list[dict[str, Any]]`
        The metrics of each finished epoch, in order; each has its number, `epoch`, from 0.
    scores : `dict[str, float]`
        The metrics of the best epoch on validation data and, if the config evaluates on them, on test data; their names
        begin with `validation_` and `test_`.
    trainings : `list[dict[str, str]]`
        The entries of the file `ENVIRONMENT`.
    """

    name: str
    folder: str
    config: dict[str, Any]
    epochs: list[dict[str, Any]]
    scores: dict[str, float]
    trainings: list[dict[str, str]]

    @property
    def archive(self) -> str:
        """The path of the run's archive, which exists when the run has ended."""
        return os.path.join(self.folder, ARCHIVE)

    @property
    def has_archive(self) -> bool:
        return os.path.isfile(self.archive)

    @property
    def has_ended(self) -> bool:
        """Whether the training is over; the archive is written after that."""
        return self.has_archive or os.path.isfile(os.path.join(self.folder, _METRICS))

    @property
    def validation_metric(self) -> str:
        """The name of the validation metric by which the best epoch is chosen."""
        metric = (self.config.get("trainer") or {}).get("validation_metric", "-loss")
        return str(metric[0] if isinstance(metric, list) else metric).lstrip("+-")

    @property
    def best_epoch(self) -> int:
        """The number of the best epoch, from 0."""
        return int(self.epochs[-1].get("best_epoch", self.epochs[-1]["epoch"]))

    @property
    def has_own_scores(self) -> bool:
        """
        Whether a structure was learned after the last epoch. The scores of epochs are then those of the task-net alone.
        `scores` has the scores with the structure, and those of the task-net's own output with the suffix `_own`.
        """
        return any(name.startswith("validation_") and name.endswith("_own") for name in self.scores)

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """The values of a metric, and the numbers of their epochs, from 1."""
        found = [(epoch["epoch"] + 1, epoch[name]) for epoch in self.epochs if _is_number(epoch.get(name))]
        return [epoch for epoch, _ in found], [value for _, value in found]


def read_run(path: str, name: str) -> Run:
    """
    Reads the run of a folder, or of the `model.tar.gz` in it.

    # Parameters

    path : `str`
        The folder, or the archive in it.
    name : `str`
        The name of the run in a report.

    # Raises

    `ConfigurationError` if the run has not finished an epoch, or a file of it cannot be read.
    """
    folder = os.path.dirname(path) or "." if os.path.basename(path) == ARCHIVE else path
    if not os.path.isdir(folder):
        raise ConfigurationError(f"{path}: there is no such folder; name that of a run (allennlp train -s FOLDER).")
    files = files_of_epochs(folder)
    if not files:
        raise ConfigurationError(
            f"{path}: there is no metrics_epoch_0.json; name the folder of a run (allennlp train -s FOLDER) that has "
            "finished an epoch."
        )
    epochs = [{**read_file(file), "epoch": _epoch_of(file)} for file in files]
    final = os.path.join(folder, _METRICS)
    last = read_file(final) if os.path.isfile(final) else epochs[-1]
    scores = {key.removeprefix("best_"): last[key] for key in last if key.startswith("best_validation_")}
    scores.update((key, value) for key, value in last.items() if key.startswith("test_"))
    scores = {key: value for key, value in scores.items() if _is_number(value)}
    return Run(name, folder, read_file(os.path.join(folder, "config.json")), epochs, scores, trainings(folder))


def files_of_epochs(folder: str) -> list[str]:
    """The metrics files of a run's finished epochs, in order."""
    return sorted(glob.glob(os.path.join(glob.escape(folder), "metrics_epoch_*.json")), key=_epoch_of)


def _epoch_of(path: str) -> int:
    return int(re.sub(r".*metrics_epoch_(\d+)\.json", r"\1", path, flags=re.DOTALL))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def read_file(path: str) -> dict[str, Any]:
    """Reads the JSON object in a file of a run."""
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
    """Reads the environments of a run's trainings; empty if the run has no such file."""
    try:
        with open(os.path.join(folder, ENVIRONMENT), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return []
