"""The trials of a search of settings: the study that keeps them, which of them count, and how they are trained."""

import io
import json
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Optional

from scripts.measure.command import mistakes_of_the_library
from scripts.measure.files import locked
from scripts.measure.suite import UserError

#: Seconds between signs of life of a running trial, and of silence after which it counts as killed.
HEARTBEAT, SILENCE = 10, 60
#: No trial is pruned before so many are complete; so many are drawn at random.
FIRST_TRIALS = 5
SQLITE = "sqlite:///"
#: The trainer's default of `num_epochs`.
EPOCHS = 20
#: Reports the score of an epoch of a trial.
Tell = Callable[[int, float], None]


def open_study(url: str, name: str, about: dict[str, Any], maximize: bool, warmup_epochs: int) -> Any:
    """
    The study of this name in the storage, which begins here if there is none.

    `url`: of a database, as SQLAlchemy takes it. `about`: the description of the search, JSON values. `warmup_epochs`:
    no trial is pruned in so many first epochs. Raises `UserError` if the storage cannot be opened, or has a study of
    this name that is about something else.
    """
    import optuna
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    # Processes that start together must not all create the tables of a file.
    alone = locked(Path(url[len(SQLITE) :]).with_suffix(".lock")) if url.startswith(SQLITE) else nullcontext()
    with warnings.catch_warnings(), alone:
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        try:
            kept = storage(url)
        except (SQLAlchemyError, StorageInternalError, ImportError) as error:
            reason = str(error).splitlines()[0].replace(url, shown(url))
            raise UserError(f"--storage: {shown(url)} is no storage that Optuna can open ({reason}).") from error
        study = optuna.create_study(
            study_name=name,
            storage=kept,
            direction="maximize" if maximize else "minimize",
            load_if_exists=True,
            pruner=optuna.pruners.MedianPruner(FIRST_TRIALS, warmup_epochs),
        )
        for key, value in about.items():
            if study.user_attrs.get(key, value) != value:
                raise UserError(
                    f"--storage: {shown(url)} has a search '{name}' with another {key}; take another storage."
                )
            study.set_user_attr(key, value)
    return study


def shown(url: str) -> str:
    """The URL of a database as it may be printed: without its password, and without options, one of which may be it."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url).set(query={}).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return f"{url.partition('://')[0]}://..."


def storage(url: str) -> Any:
    """The storage of Optuna, in which running trials give signs of life."""
    import optuna

    return optuna.storages.RDBStorage(
        url,
        engine_kwargs={"connect_args": {"timeout": 100}} if url.startswith(SQLITE) else None,
        heartbeat_interval=HEARTBEAT,
        grace_period=SILENCE,
        # A trial is repeated once only, since it may be the trial that kills the process.
        heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(max_retry=1),
    )


def finished(study: Any) -> list[Any]:
    """The trials that count: those that ended by themselves or were pruned."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.state.name in ("COMPLETE", "PRUNED")]


def ranked(study: Any) -> list[Any]:
    """The trials that were not pruned, the best first."""
    complete = [trial for trial in finished(study) if trial.state.name == "COMPLETE"]
    return sorted(complete, key=lambda trial: trial.value, reverse=study.direction.name == "MAXIMIZE")


def load(config: str, overrides: dict[str, Any]) -> Any:
    """
    The config with the overrides and without test data. Raises `UserError` if it has a mistake, or cannot be searched.
    """
    from allennlp.common import Params

    with mistakes_of_the_library():
        params = Params.from_file(config, params_overrides=json.dumps(overrides))
    for key in ("test_data_path", "evaluate_on_test"):
        params.params.pop(key, None)
    if params.params.get("distributed") is not None:
        raise UserError("'distributed' is not for a search: start the command in several processes instead.")
    if not isinstance(params.params.get("trainer"), dict):
        raise UserError(f"{config} has no 'trainer', so that nothing can be trained.")
    if not params.params.get("validation_data_path"):
        raise UserError(f"{config} has no 'validation_data_path', so that no trial can be judged.")
    return params


class Trainings:
    """
    Trains a config in this process and a temporary folder, through AllenNLP's `train_model`.

    `config`: its path. `metric`: the name of the score of an epoch, which `trainer.validation_metric` has, too.
    `verbose`: whether what AllenNLP logs is shown.
    """

    def __init__(self, config: str, metric: str, verbose: bool) -> None:
        from allennlp.training import TrainerCallback

        self._config, self._metric, self._verbose = config, metric, verbose
        # The function that the callback below calls is the last one here: a config is text and cannot hold a function.
        tell: list[Any] = []
        self._tell = tell

        @TrainerCallback.register("tell_search", exist_ok=True)
        class TellSearch(TrainerCallback):
            def on_epoch(self, trainer: Any, metrics: dict[str, Any], epoch: int, **_: Any) -> None:
                tell[-1](trainer, epoch, metrics)

    def check(self, overrides: dict[str, Any]) -> None:
        """Builds what would be trained. Raises `UserError` if it cannot be built."""
        self._run(load(self._config, overrides), overrides, dry_run=True)

    def metrics(self) -> dict[str, Any]:
        """
        Trains the config as it is, and returns the run's `metrics.json`. Raises `NonFiniteLoss` if the training
        diverges; `UserError` if the config is refused.
        """
        return self._run(load(self._config, {}), {})

    def train(self, overrides: dict[str, Any], tell: Tell) -> float:
        """
        The best score of the run, as its `metrics.json` has it. `tell` is called with the epochs of the last phase,
        counted from 0: earlier phases train another net than the one that predicts. Raises `NonFiniteLoss` if the
        training diverges; `UserError` if the config is refused; what `tell` raises.
        """
        params = load(self._config, overrides)
        first = start_of_last_phase(params.params["trainer"])
        params.params["trainer"]["callbacks"] = [*(params.params["trainer"].get("callbacks") or ()), "tell_search"]

        def told(trainer: Any, epoch: int, metrics: dict[str, Any]) -> None:
            # Folds of the data, and a student, are trained by trainers of their own.
            if Path(trainer._serialization_dir).name == _RUN and epoch >= first:
                tell(epoch - first, metrics[f"validation_{self._metric}"])

        self._tell.append(told)
        try:
            metrics = self._run(params, overrides)
        finally:
            self._tell.pop()
        return metrics[f"best_validation_{self._metric}"]

    def _run(self, params: Any, overrides: dict[str, Any], dry_run: bool = False) -> dict[str, Any]:
        from allennlp.commands.train import train_model

        from seal.cli.check import check
        from seal.cli.config_keys import with_config_key
        from seal.training import NonFiniteLoss

        with tempfile.TemporaryDirectory(prefix="tune-") as folder, quiet(self._verbose):
            try:
                with mistakes_of_the_library(), with_config_key():
                    check(params.as_dict(quiet=True))
                    train_model(params, os.path.join(folder, _RUN), dry_run=dry_run)
            except UserError as error:
                if isinstance(error.__cause__, NonFiniteLoss):
                    raise error.__cause__ from None
                raise UserError(f"with {json.dumps(overrides)} the config cannot be trained: {error}") from error
            if dry_run:
                return {}
            return json.loads(Path(folder, _RUN, "metrics.json").read_text(encoding="utf-8"))


_RUN = "run"


def start_of_last_phase(trainer: dict[str, Any]) -> int:
    """The first epoch of the last phase that the trainer's settings have."""
    from allennlp.common import Params

    from seal.training.phases import Phase, Phases

    given = trainer.get("phases") or [{}]
    with mistakes_of_the_library():
        phases = [Phase.from_params(Params(dict(phase))) for phase in given]
        return Phases(phases, trainer.get("num_epochs", EPOCHS)).start(len(phases) - 1)


@contextmanager
def quiet(verbose: bool) -> Iterator[None]:
    """Hides stdout and stderr inside, unless `verbose`; restores the state of logging at the end."""
    from allennlp.common.tqdm import logger as bars

    root, hook = logging.getLogger(), sys.excepthook
    handlers, level, handlers_of_bars = list(root.handlers), root.level, list(bars.handlers)
    out, err = (sys.stdout, sys.stderr) if verbose else (io.StringIO(), io.StringIO())
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield
    finally:
        for handler in set(root.handlers) - set(handlers):
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        # Progress bars would go on writing to the log of the trial, whose folder is gone.
        bars.handlers[:] = handlers_of_bars
        sys.excepthook = hook


def at(config: dict[str, Any], key: str) -> Optional[Any]:
    """The value of a config at a dotted key; raises `KeyError` if there is none."""
    found: Any = config
    for part in key.split("."):
        try:
            found = found[int(part)] if isinstance(found, list) else found[part]
        except (TypeError, ValueError, IndexError) as error:
            raise KeyError(key) from error
    return found
