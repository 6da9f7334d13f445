"""The trials of a hyper-parameter search: the file that keeps them, which of them count, and their table."""

import json
import time
import warnings
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from scripts.measure.files import locked, replacing
from scripts.measure.grid import is_tuned
from scripts.measure.search_spaces import GRID, Held, first_trials
from scripts.measure.suite import UserError

#: Seconds between signs of life of a running trial, and of silence after which it counts as killed.
HEARTBEAT, SILENCE = 10, 60
#: No trial is pruned before so many are complete, nor before this epoch (of the last phase).
WARMUP_TRIALS, WARMUP_EPOCHS = 5, 5


def open_study(path: Path, about: Dict[str, Any], trials: int, defaults: Sequence[str] = ()) -> Any:
    """
    The search in the SQLite file, which begins here if the file has none. Of the `first_trials`, at most `trials` are
    queued, without those that the file has already.

    # Parameters

    about : `Dict[str, Any]`
        What the search is about: data set, method and so on.
    defaults : `Sequence[str]`, optional (default = `()`)
        Names in `about` that the user left to their defaults: the file's value replaces them, if it has one.

    # Raises

    `UserError` if the file holds a search that is about something else.
    """
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    held = tuple(about.get("settings", {}).items())
    first = first_trials(about["dataset"], about["method"], held)
    about = {**about, "first trial": first[0]}
    # Processes that start together must not all create the tables, or the first trials.
    with warnings.catch_warnings(), locked(path.with_suffix(".lock")):
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        try:
            storage = optuna.storages.RDBStorage(
                f"sqlite:///{path}",
                engine_kwargs={"connect_args": {"timeout": 100}},
                heartbeat_interval=HEARTBEAT,
                grace_period=SILENCE,
                # A trial is repeated once only, since it may be the trial that kills the process.
                heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(max_retry=1),
            )
        except SQLAlchemyError as error:
            raise UserError(f"--storage: {path} is not a search that Optuna can open.") from error
        study = optuna.create_study(
            study_name="tune",
            storage=storage,
            direction="maximize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(WARMUP_TRIALS, WARMUP_EPOCHS),
        )
        before = study.user_attrs
        about = {**about, **{name: before[name] for name in defaults if name in before}}
        for name, value in about.items():
            if before.get(name, value) != value:
                raise UserError(
                    f"--storage: {path} is of a search with another {name} ({before[name]}, not {value}): take "
                    "another file."
                )
        for name, value in about.items():
            study.set_user_attr(name, value)
        for settings in first[:trials]:
            study.enqueue_trial(settings, skip_if_exists=True)
    return study


def is_complete(study: Any, first: List[Dict[str, Any]], trials: int, until: float) -> bool:
    """
    Whether `trials` trials have ended and none of the `first` ones is waiting. If another process is still running one
    of the first trials, this waits as long as it takes to find that the process was killed and to queue the trial
    again, but not beyond `until` (a time of `time.monotonic`).
    """
    import optuna

    if len(finished(study)) < trials:
        return False
    until = min(until, time.monotonic() + SILENCE + 2 * HEARTBEAT)
    while _has_first(study, first, "RUNNING") and time.monotonic() < until:
        time.sleep(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Optuna calls it experimental.
            optuna.storages.fail_stale_trials(study)
    return not _has_first(study, first, "WAITING")


def _has_first(study: Any, first: List[Dict[str, Any]], state: str) -> bool:
    """Whether a trial in this state has the settings of a `first` one, which a repeated trial keeps."""
    trials = study.get_trials(deepcopy=False)
    return any(trial.state.name == state and trial.system_attrs.get("fixed_params") in first for trial in trials)


def finished(study: Any) -> List[Any]:
    """The trials that count: those that ended by themselves or were pruned."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.name in ("COMPLETE", "PRUNED")]


def best_trial(study: Any) -> Optional[Any]:
    complete = [trial for trial in finished(study) if trial.state.name == "COMPLETE"]
    return max(complete, key=lambda trial: trial.value, default=None)


def write_csv(study: Any, path: Path) -> Any:
    """Writes and returns a table with a row for each trial that counts: complete ones first, and the best first."""
    import pandas

    metric = study.user_attrs["metric"]
    rows = []
    for trial in finished(study):
        facts = trial.user_attrs
        row = {"trial": trial.number, "end": facts.get("end", trial.state.name.lower())}
        # For a pruned trial, this is the best score up to then.
        row[metric] = max(trial.intermediate_values.values(), default=0.0)
        row["epochs"], row["seconds"] = facts["epochs"], round(trial.duration.total_seconds(), 1)
        rows.append({**row, **facts["settings"]})
    rows.sort(key=lambda row: (row["end"] != "complete", -row[metric]))
    table = pandas.DataFrame(rows)
    with replacing(path) as draft:
        table.to_csv(draft, index=False)
    return table


def line_to_paste(
    dataset: str, method: str, settings: Dict[str, Any], metric: str = "f1", held: Held = ()
) -> str:
    values = {**dict(held), **{name: json.dumps(value) for name, value in settings.items()}}
    tuned = is_tuned(values)
    values.pop("tuned", None)
    line = " ".join(GRID.call(dataset, method, values, tuned).split()).replace("( ", "(").replace(", )", ")")
    # The metric of the search also chooses the epoch, so the config has to name it.
    return line if metric == "f1" else f"{line} + {{ trainer+: {{ validation_metric: '+{metric}' }} }}"
