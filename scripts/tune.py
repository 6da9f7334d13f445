"""Search settings of any config on its validation data, with Optuna."""

import argparse
import json
import logging
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm

from scripts.measure import trials
from scripts.measure.command import at_least_one, check_file, exit_status, make_folder
from scripts.measure.configs import parse_overrides
from scripts.measure.search_space import Space, as_json, read_space
from scripts.measure.suite import UserError

# A trial's own seed is a thousand times the search's and the trial's number, and below 2**32.
MOST_SEED = 4_000_000
SHOWN = 5
EPILOG = """\
SPACE.json has a list of values or a range for each dotted key that may change, as in --overrides:

  {"trainer.task_net.optimizer.lr": {"low": 1e-4, "high": 1e-2, "log": true},
   "model.sampler.num_samples": {"low": 10, "high": 50, "step": 10},
   "model.task_loss.energy_weight": [0.01, 0.1, 1]}

A range whose ends are whole numbers has whole numbers. Before anything is trained, the config is built with the
first values of all keys, with the last ones and, of lists, with those between; what cannot be built is refused.

The first trial is the config itself, where the space holds its settings; the next four are drawn at random, and the
others chosen by TPE. A trial is worth the best validation score of its run. One whose score is below the median of
earlier ones at the same epoch is cut short (pruned), once a third of the epochs is over, and so is one that diverges.
Test data are never read.

The storage keeps every trial. The same command continues a search that was stopped in any way, and adds trials if
--trials is larger. Several processes with the same command share the search, on several machines if --storage is the
URL of a database; each may add one trial more than asked for. A trial whose process was killed is repeated.

example:
  python scripts/tune.py training_configs/text_nce.jsonnet --search training_configs/search/text_nce.json --trials 20
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("config", metavar="CONFIG", help="as `train` takes it")
    add("--search", required=True, type=Path, metavar="SPACE.json", help="what may change")
    add("--trials", type=int, default=30, help="how many the storage has when the search ends (default: %(default)s)")
    add(
        "--metric",
        help="a validation score that settings and epochs are chosen by, as f1_tuned; --metric=-loss for "
        "one that is to be low (default: the config's trainer.validation_metric)",
    )
    add("-o", "--overrides", default="{}", help="JSON, dotted config keys and their values in every trial")
    add(
        "--storage",
        metavar="URL",
        help="a file of SQLite, or the URL of a database (default: results/tune/CONFIG_SPACE.db)",
    )
    add("--timeout", type=float, help="seconds after which no new trial begins")
    add("--seed", type=int, default=1, help="of what the search draws (default: %(default)s)")
    add("--include-package", action="append", default=[], help="a package of yours to import, as for `train`")
    add("--verbose", action="store_true", help="show what AllenNLP and Optuna log")
    return result


class Search:
    """
    What the arguments ask for.

    # Raises

    `UserError` for a mistake that is found without building the config.
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        check(arguments)
        self.space: Space = read_space(arguments.search)
        self.held = parse_overrides(arguments.overrides)
        for key in self.held:
            if key in self.space:
                raise UserError(f"--overrides: '{key}' is in {arguments.search}, too; take it out of one of them.")
        own = trials.load(arguments.config, self.held).as_dict(quiet=True)["trainer"].get("validation_metric", "-loss")
        metric = own if arguments.metric is None else arguments.metric
        if not isinstance(metric, str):
            raise UserError("--metric: name one, since the config's trainer.validation_metric has several.")
        metric = metric if metric[:1] in ("+", "-") else f"+{metric}"
        self.metric, self.maximize = metric[1:], metric[0] == "+"
        if metric != own:
            self.held["trainer.validation_metric"] = metric
        self.config: dict[str, Any] = trials.load(arguments.config, self.held).as_dict(quiet=True)
        self.trainings = trials.Trainings(arguments.config, self.metric, arguments.verbose)
        self.name = f"{Path(arguments.config).stem}_{arguments.search.stem}"
        self.url = storage_url(arguments.storage or f"results/tune/{self.name}.db")

    def own(self) -> dict[str, Any]:
        """The config's own settings, those that the space holds."""
        return {key: value for key, value in self._found() if self.space[key].holds(value)}

    def _found(self) -> list[tuple[str, Any]]:
        found = []
        for key in self.space:
            with suppress(KeyError):
                found.append((key, trials.at(self.config, key)))
        return found

    def check(self) -> None:
        """Builds the config with the ends of the space, so that a wrong key or value is found before a training."""
        ends = {key: values.ends() for key, values in self.space.items()}
        for number in range(max(map(len, ends.values()))):
            chosen = {key: values[min(number, len(values) - 1)] for key, values in ends.items()}
            self.trainings.check({**self.held, **chosen})

    def open(self) -> Any:
        """
        The study, with the config itself as its first trial. Raises `UserError` if it cannot be opened, or the config
        cannot be built with what it is to try.
        """
        about = {"config": self.config, "space": as_json(self.space), "metric": self.metric}
        warmup = (self.config["trainer"].get("num_epochs", trials.EPOCHS) or 0) // 3
        study = trials.open_study(self.url, self.name, about, self.maximize, warmup)
        if not study.get_trials(deepcopy=False):
            self.check()
            own = self.own()
            if len(own) == len(self.space):
                first = {key: self.space[key].parameter(value) for key, value in own.items()}
                study.enqueue_trial(first, user_attrs={"own": True}, skip_if_exists=True)
            else:
                outside = ", ".join(key for key in self.space if key not in own)
                print(f"the config itself is not tried, as the space does not hold its {outside}", file=sys.stderr)
        return study


def check(arguments: argparse.Namespace) -> None:
    """
    Checks what the arguments say by themselves, and loads what a config may name. Raises `UserError` for a mistake.
    """
    at_least_one(arguments, "trials")
    if not 0 <= arguments.seed <= MOST_SEED:
        raise UserError(f"--seed must be a number from 0 to {MOST_SEED}, not {arguments.seed}.")
    if arguments.timeout is not None and arguments.timeout <= 0:
        raise UserError(f"--timeout must be above 0, not {arguments.timeout:g}.")
    if not Path(arguments.config).is_file():
        raise UserError(f"there is no config {arguments.config}.")
    try:
        import optuna  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserError(f"{error.name} is not installed; requirements-measure.txt has it.") from error
    from allennlp.common.util import import_module_and_submodules

    for package in ("seal", *arguments.include_package):
        try:
            import_module_and_submodules(package)
        except ModuleNotFoundError as error:
            raise UserError(f"--include-package: there is no module {error.name}.") from error


def storage_url(given: str) -> str:
    """The URL of `--storage`, which may be the path of a file of SQLite."""
    if "://" in given and not given.startswith(trials.SQLITE):
        return given
    path = Path(given.removeprefix(trials.SQLITE)).absolute()
    check_file("storage", path)
    make_folder("storage", path.parent)
    return f"{trials.SQLITE}{path}"


def run_trials(search: Search, study: Any, arguments: argparse.Namespace) -> None:
    """Runs trials until the storage has as many as wanted, or until the time-out."""
    import optuna

    from seal.training import NonFiniteLoss

    wanted = arguments.trials
    if len(trials.finished(study)) >= wanted:
        return
    bar = tqdm(total=wanted, initial=len(trials.finished(study)), desc="trials", unit="trial", dynamic_ncols=True)

    def objective(trial: Any) -> float:
        def tell(epoch: int, score: float) -> None:
            best = trials.ranked(study)[:1]
            shown = f", best {best[0].value:.2f}" if best else ""
            bar.set_postfix_str(f"trial {trial.number}, epoch {epoch + 1}: {score:.2f}{shown}")
            trial.report(score, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned()

        # Each trial has a seed of its own: else processes that share or continue the search would draw the same values.
        seed = 1000 * arguments.seed + trial.number
        trial.study.sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=trials.FIRST_TRIALS)
        settings = {key: values.suggest(trial, key) for key, values in search.space.items()}
        trial.set_user_attr("settings", settings)
        try:
            return search.trainings.train({**search.held, **settings}, tell)
        except NonFiniteLoss as error:
            raise optuna.TrialPruned() from error
        except KeyboardInterrupt:
            # It is repeated before any new trial.
            study.enqueue_trial(trial.params, user_attrs={"own": trial.user_attrs.get("own", False)})
            raise

    def after(study: Any, _: Any) -> None:
        ended = len(trials.finished(study))
        bar.update(min(ended, wanted) - bar.n)
        if ended >= wanted:
            study.stop()

    with bar:
        study.optimize(objective, timeout=arguments.timeout, callbacks=[after])


def report(search: Search, study: Any, arguments: argparse.Namespace) -> None:
    ended, ranked = trials.finished(study), trials.ranked(study)
    print(f"{len(ended)} trials in {trials.shown(search.url)}, of which {len(ended) - len(ranked)} were pruned.")
    if not ranked:
        print("None has ended by itself, so there is no best one.")
        return
    for trial in ranked[:SHOWN]:
        own = ", the config itself" if trial.user_attrs.get("own") else ""
        settings = json.dumps(trial.user_attrs["settings"])
        print(f"trial {trial.number}{own}: {search.metric} {trial.value:.2f}, {settings}")
    overrides = json.dumps({**search.held, **ranked[0].user_attrs["settings"]})
    packages = "".join(f" --include-package {package}" for package in arguments.include_package)
    print(f"\nThe overrides of the best, and how to train it:\n\n{overrides}\n")
    config, folder = shlex.quote(arguments.config), shlex.quote(f"runs/{search.name}")
    print(f"seal train {config} -s {folder}{packages} -o {shlex.quote(overrides)}")


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)

    def tune() -> None:
        search = Search(arguments)
        import optuna

        optuna.logging.set_verbosity(logging.INFO if arguments.verbose else logging.ERROR)
        study = search.open()
        run_trials(search, study, arguments)
        report(search, study, arguments)

    return exit_status(tune, stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
