"""Search hyper-parameters of a multi-label method on the validation data, with Optuna."""

import argparse
import io
import json
import logging
import math
import os
import sys
import tempfile
import time
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm  # noqa: E402

from scripts.measure import search_spaces, trials  # noqa: E402
from scripts.measure.command import at_least_one, check_file, exit_status, make_folder  # noqa: E402
from scripts.measure.configs import parse_settings  # noqa: E402
from scripts.measure.idle_settings import refuse_idle  # noqa: E402
from scripts.measure.search_spaces import SPACES  # noqa: E402
from scripts.measure.suite import LIBRARY_FOLDER, ROOT, Settings, UserError  # noqa: E402
from scripts.measure.suites import multilabel  # noqa: E402
from scripts.measure.trials import best_trial, finished  # noqa: E402

EPOCHS = 60
# A trial's own seed is a thousand times the search's and the trial's number, and below 2**32.
MOST_SEED = 4_000_000
EPILOG = """\
The first trial has the config's own settings, the next ones have its energy weight or one of its learning
rates three times larger or smaller. The others are chosen by TPE. A trial whose validation score is below
the median of earlier ones at the same epoch is cut short (pruned), as is one that diverges. The test data is
never read. What may be chosen, and why: scripts/measure/search_spaces.py.

The storage is a SQLite file that keeps every trial; a table of them lies beside it, as .csv. The same command
continues a search that was stopped in any way, and adds trials if --trials is larger. Several processes with
the same command share the search, and each may add one trial more than asked for. A trial whose process was
killed is repeated after a minute without a sign of life, which may also add a trial. The search does not end
before its first trials have ended.

example:
  python scripts/tune.py --dataset bibtex --method nce --metric f1_tuned --timeout 36000
  python scripts/tune.py --dataset bibtex --method nce --settings task_net_steps=1,loss_net_steps=1
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add, sets = result.add_argument, list(multilabel.library())
    add("--dataset", required=True, choices=sets, metavar="NAME", help=", ".join(sets))
    add("--method", required=True, choices=list(SPACES), metavar="NAME", help=", ".join(SPACES))
    add("--trials", type=int, default=30, help="how many the storage has when the search ends (default: %(default)s)")
    add(
        "--epochs",
        type=int,
        help=f"the most of a trial, which patience may end earlier (default: {EPOCHS} and those of the phases before "
        "the last one, or those of the search in the storage)",
    )
    add(
        "--metric",
        choices=["f1", "f1_tuned"],
        default="f1",
        help="example F1 at 0.5, or at the threshold tuned on the validation data; it chooses the settings "
        "and, in training, the epoch (default: %(default)s)",
    )
    add(
        "--settings",
        default="",
        help="NAME=VALUE of hyper-parameters that no trial changes, separated by commas; values are jsonnet",
    )
    add("--storage", type=Path, help="(default: results/tune/DATASET_METHOD.db, or _f1_tuned.db)")
    add("--timeout", type=float, help="seconds after which no new trial begins")
    add("--seed", type=int, help="of the search and of all its trainings (default: the config's)")
    add("--threads", type=int, default=1, help="of a training (default: %(default)s)")
    add("--verbose", action="store_true", help="show what AllenNLP and Optuna log")
    result.set_defaults(held=())  # `check` fills it.
    return result


def check(arguments: argparse.Namespace) -> None:
    """Refuses what cannot be searched; `arguments.held` becomes the parsed `--settings`."""
    known = multilabel.setting_names(arguments.dataset, arguments.method)
    arguments.held = tuple(parse_settings(arguments.settings).items())
    for name, _ in arguments.held:
        if name not in known:
            raise UserError(f"--settings: no setting '{name}'; there are {', '.join(known)}.")
    refuse_idle_settings(arguments)
    if arguments.storage is not None and arguments.storage.suffix in (".csv", ".lock"):
        raise UserError(
            f"--storage: '{arguments.storage}' has the ending of a file that is written beside it; take another, "
            "such as .db."
        )
    at_least_one(arguments, "trials", "epochs", "threads")
    if arguments.seed is not None and not 0 <= arguments.seed <= MOST_SEED:
        raise UserError(f"--seed must be a number from 0 to {MOST_SEED}, not {arguments.seed}.")
    if arguments.timeout is not None and arguments.timeout <= 0:
        raise UserError(f"--timeout must be above 0, not {arguments.timeout:g}.")
    earlier = search_spaces.earlier_epochs(arguments.dataset, arguments.method, arguments.held)
    if arguments.epochs is None:
        arguments.epochs = earlier + EPOCHS
    if arguments.epochs <= earlier:
        raise UserError(f"--epochs must be above {earlier}: {arguments.method} has those before its last phase.")
    for path in map(multilabel.data(arguments.dataset).get, ("train", "valid")):
        if not (ROOT / path).exists():
            raise UserError(f"{path} is missing: put the data in {Path(path).parent}: see data/README.md.")
    try:
        import optuna  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed; requirements-measure.txt has it.") from error
    check_file("storage", storage_path(arguments))
    make_folder("storage", storage_path(arguments).parent)


def refuse_idle_settings(arguments: argparse.Namespace) -> None:
    def write(held: Dict[str, str]) -> str:
        settings = Settings(LIBRARY_FOLDER.as_posix(), seed=1, epochs=1, fraction=1.0, more=tuple(held.items()))
        return multilabel.experiment(arguments.dataset, arguments.method, settings)

    refuse_idle(dict(arguments.held), [{arguments.method: write}], f"'{arguments.method}' trains")


def storage_path(arguments: argparse.Namespace) -> Path:
    suffix = "" if arguments.metric == "f1" else f"_{arguments.metric}"
    default = ROOT / "results" / "tune" / f"{arguments.dataset}_{arguments.method}{suffix}.db"
    return (arguments.storage or default).absolute()


class Tuning:
    """Trains a trial, in this process and a temporary folder, through AllenNLP's `train_model`."""

    def __init__(self, arguments: argparse.Namespace, show: Callable[[Any, int], None]) -> None:
        import seal  # noqa: F401
        from allennlp.training import TrainerCallback

        self._arguments, self._show = arguments, show
        own = search_spaces.all_settings(arguments.dataset, arguments.method)["seed"]
        self.seed = own if arguments.seed is None else arguments.seed
        # The function that the callback below calls is the last one here: a config is text and cannot hold a function.
        tell: List[Any] = []
        self._tell = tell

        @TrainerCallback.register("tell_tuning", exist_ok=True)
        class TellTuning(TrainerCallback):
            def on_epoch(self, trainer: Any, metrics: Dict[str, Any], epoch: int, **_: Any) -> None:
                tell[-1](epoch, metrics)

    def train(self, trial: Any, settings: Dict[str, Any]) -> float:
        """
        Trains with these settings; returns the best validation score of the last phase.

        # Raises

        `TrialPruned` if the trial is pruned, or if its loss is no longer finite; `UserError` if the config is invalid.
        """
        import optuna
        from allennlp.commands.train import train_model
        from allennlp.common import Params
        from allennlp.common.checks import ConfigurationError
        from seal.training import NonFiniteLoss

        def tell(epoch: int, metrics: Dict[str, Any]) -> None:
            self._show(trial, epoch)
            trial.set_user_attr("epochs", epoch + 1)
            # Scores count from the last phase on: earlier phases train another net than the one that predicts.
            if epoch >= first:
                scores.append(metrics[f"validation_{self._arguments.metric}"])
                trial.report(scores[-1], epoch - first)
                if trial.should_prune():
                    raise optuna.TrialPruned()

        scores: List[float] = []
        first = search_spaces.earlier_epochs(self._arguments.dataset, self._arguments.method, self._arguments.held)
        trial.set_user_attr("settings", settings)
        trial.set_user_attr("epochs", 0)
        # Data paths of configs are relative to the repository.
        with tempfile.TemporaryDirectory(prefix="tune-") as folder, chdir(ROOT), quiet(self._arguments.verbose):
            path = Path(folder, "config.jsonnet")
            path.write_text(self._config(settings, path.parent), encoding="utf-8")
            params = Params.from_file(path)
            params["trainer"]["validation_metric"] = f"+{self._arguments.metric}"
            params["trainer"]["callbacks"] = [*params["trainer"]["callbacks"], "tell_tuning"]
            self._tell.append(tell)
            try:
                train_model(params, os.path.join(folder, "model"))
            except NonFiniteLoss as error:
                trial.set_user_attr("end", "diverged")
                raise optuna.TrialPruned() from error
            except ConfigurationError as error:
                raise UserError(f"a trial cannot be trained: {' '.join(str(error).split())}") from error
            finally:
                self._tell.pop()
        return max(scores)

    def _config(self, settings: Dict[str, Any], folder: Path) -> str:
        library = os.path.relpath(LIBRARY_FOLDER, folder)
        more = (*self._arguments.held, *((name, json.dumps(value)) for name, value in settings.items()))
        chosen = Settings(library, self.seed, self._arguments.epochs, fraction=1.0, more=more)
        return multilabel.experiment(self._arguments.dataset, self._arguments.method, chosen)


@contextmanager
def quiet(verbose: bool) -> Iterator[None]:
    """Hides what is written to stdout and stderr inside, unless `verbose`; restores the state of logging at the end."""
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


def search(arguments: argparse.Namespace, study: Any) -> None:
    """Runs trials until the storage has as many as wanted, the first ones among them, or until the time-out."""
    wanted, before = arguments.trials, len(finished(study))
    end = math.inf if arguments.timeout is None else time.monotonic() + arguments.timeout
    first = search_spaces.first_trials(arguments.dataset, arguments.method, arguments.held)[:wanted]

    def is_complete() -> bool:
        return trials.is_complete(study, first, wanted, end)

    if is_complete():
        return
    import torch
    from optuna.samplers import TPESampler

    torch.set_num_threads(arguments.threads)
    space = search_spaces.search_space(arguments.dataset, arguments.method, arguments.held)
    bar = tqdm(total=wanted, initial=before, desc="trials", unit="trial", dynamic_ncols=True)

    def show(trial: Any, epoch: int) -> None:
        best = best_trial(study)
        told = "" if best is None else f", best {best.value:.2f}"
        bar.set_postfix_str(f"trial {trial.number}, epoch {epoch + 1}/{arguments.epochs}{told}")

    tuning = Tuning(arguments, show)

    def objective(trial: Any) -> float:
        # Each trial has a seed of its own: else processes that share or continue the search would draw the same values.
        trial.study.sampler = TPESampler(seed=1000 * tuning.seed + trial.number)
        try:
            return tuning.train(trial, {name: values.suggest(trial, name) for name, values in space.items()})
        except KeyboardInterrupt:
            study.enqueue_trial(trial.params)  # It is repeated before any new trial.
            raise

    def after(study: Any, _: Any) -> None:
        bar.update(min(len(finished(study)), wanted) - bar.n)
        trials.write_csv(study, storage_path(arguments).with_suffix(".csv"))
        if is_complete():
            study.stop()

    with bar:
        study.optimize(objective, timeout=arguments.timeout, callbacks=[after])


def report(arguments: argparse.Namespace, study: Any) -> None:
    path = storage_path(arguments).with_suffix(".csv")
    table, best = trials.write_csv(study, path), best_trial(study)
    if best is None:
        print(f"No trial is complete; those that were pruned are in {path}.")
        return
    print(table.head(5).to_string(index=False, float_format="{:.4g}".format))
    own = [trial for trial in finished(study) if trial.user_attrs["settings"] == study.user_attrs["first trial"]]
    which = f"trial {own[0].number}'s" if own else "not among them"
    print(f"\nAll trials: {path}. The config's own settings are {which}. The best:\n")
    chosen = {**best.user_attrs["settings"], **({} if arguments.seed is None else {"seed": arguments.seed})}
    line = trials.line_to_paste(
        arguments.dataset, arguments.method, chosen, arguments.metric, arguments.held
    )
    print(line)


def main(argv: Optional[List[str]] = None) -> int:
    arguments = parser().parse_args(argv)

    def tune() -> None:
        defaults = ("epochs",) if arguments.epochs is None else ()
        check(arguments)
        import optuna

        optuna.logging.set_verbosity(logging.INFO if arguments.verbose else logging.ERROR)
        about = {name: getattr(arguments, name) for name in ("dataset", "method", "metric", "epochs", "seed")}
        about["settings"] = dict(arguments.held)
        study = trials.open_study(storage_path(arguments), about, arguments.trials, defaults)
        arguments.epochs = study.user_attrs["epochs"]
        search(arguments, study)
        report(arguments, study)

    return exit_status(tune, stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
