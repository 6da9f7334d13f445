"""Train every method of a suite with several seeds, and compare them in a table and a figure."""

import argparse
import glob
import re
import shlex
import sys
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm

from scripts.measure import configs, provenance
from scripts.measure.command import at_least_one, check_folder, exit_status, make_folder
from scripts.measure.files import write_text
from scripts.measure.runner import Runner
from scripts.measure.runs import Run, RunFailed, run_name
from scripts.measure.suite import ROOT, Settings, Suite, UserError, all_families, all_suites

EPILOG = """\
Everything of a run lies in OUT/runs/SUITE-METHOD-SEED: its config.jsonnet, which plain `allennlp train` takes
too (from the repository root), its log, its model, commit and machine of its training (run.json), and what
each example of a split adds to the scores.
After any kind of end, the same command continues where it stopped. More seeds, methods, data sets or splits may
be asked for later, and are added to the same tables: OUT/results.csv, OUT/results.md, OUT/results.png
(OUT/results_multilabel.png for that suite). A split that is asked for later is scored without training again.
The page names the settings and the commits of its runs, the methods whose settings differ from the baseline's,
and the runs that the present defaults would train differently; a run that was stopped midway is not continued
with other defaults.

examples:
  python scripts/reproduce.py --suite srl_sample --seeds 3 --out results/srl_sample
  python scripts/reproduce.py --suite srl_sample --methods crf,nce --epochs 2 --fraction 0.1 --out results/try
  python scripts/reproduce.py --suite srl_ewt --encoder bert-base-uncased --jobs 2 --threads 4 \\
      --out results/ewt --overrides '{"trainer.patience": 2, "nce:model.sampler.num_samples": 100}'
  python scripts/reproduce.py --suite multilabel --datasets bibtex,spo_fun --methods cross_entropy,nce \\
      --seeds 5 --out results/multilabel --settings 'patience=10,nce:energy_weight=1' --splits valid,test
"""


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--suite", required=True, help="what is measured: " + ", ".join(choices()))
    result.add_argument(
        "--datasets",
        help="of a suite that has several, separated by commas (default: the embedded one; of citations, cora_10)",
    )
    result.add_argument("--out", required=True, type=Path, help="the folder for runs and results")
    result.add_argument("--methods", help="separated by commas (default: all of the suite)")
    result.add_argument(
        "--seeds",
        default="3",
        help="how many seeds: 1, 2, ..., or a range of them, as 4-5: machines may share them (default: %(default)s)",
    )
    result.add_argument("--encoder", help="a transformer's name on the hub, or a local folder")
    result.add_argument("--epochs", type=int, help="(default: the suite's)")
    result.add_argument(
        "--fraction",
        type=float,
        default=1.0,
        help="of the training sentences, in (0, 1] (default: %(default)s)",
    )
    result.add_argument("--jobs", type=int, default=1, help="runs at a time (default: %(default)s)")
    result.add_argument("--threads", type=int, default=1, help="of each run (default: %(default)s)")
    result.add_argument(
        "--overrides",
        default="{}",
        help="JSON, dotted config keys and their values, for all methods or, as METHOD:KEY, for one",
    )
    result.add_argument(
        "--settings",
        default="",
        help="NAME=VALUE of a method's hyper-parameters, separated by commas, for all methods or, as "
        "METHOD:NAME=VALUE, for one; values are jsonnet",
    )
    result.add_argument(
        "--splits",
        help="what is scored, separated by commas; the validation split always is (default: the suite's)",
    )
    result.add_argument("--label", default="", help="the heading of table and figure")
    return result


def choices() -> list[str]:
    """What `--suite` may be: a family stands for its suites."""
    return [name for name, suite in all_suites().items() if suite.family is None] + list(all_families())


def names_of(option: str, source: str) -> list[str]:
    """The names of a comma-separated list, each once; at least one."""
    names = list(dict.fromkeys(name.strip() for name in source.split(",") if name.strip()))
    if not names:
        raise UserError(f"--{option}: name at least one, or leave the option out.")
    return names


def seeds_of(source: str) -> range:
    """The seeds of `--seeds`: 1, 2, ... to a number, or the numbers of a range, both ends among them."""
    found = re.fullmatch(r"(?:([0-9]+)-)?([0-9]+)", source.strip())
    seeds = range(int(found[1] or 1), int(found[2]) + 1) if found else range(0)
    if not seeds or seeds[0] < 1:
        raise UserError(f"--seeds: a number of at least 1, or a range of such numbers as 4-5, not '{source}'.")
    return seeds


def chosen_suites(arguments: argparse.Namespace) -> list[Suite]:
    """The suites that were asked for: one for each data set."""
    suites, families = all_suites(), all_families()
    if arguments.suite not in choices():
        raise UserError(f"--suite: there is no suite '{arguments.suite}'; there are {', '.join(choices())}.")
    if arguments.suite not in families:
        if arguments.datasets is not None:
            raise UserError(f"--datasets: the suite {arguments.suite} has one data set; leave it out.")
        return [suites[arguments.suite]]
    family = families[arguments.suite]
    known = family.suites(suites)
    datasets = [family.default] if arguments.datasets is None else names_of("datasets", arguments.datasets)
    for name in datasets:
        if name not in known:
            raise UserError(f"--datasets: {family.name} has no data set '{name}'; it has {', '.join(known)}.")
    return [known[name] for name in datasets]


def plan(arguments: argparse.Namespace) -> list[Run]:
    """The runs that are asked for."""
    suites = chosen_suites(arguments)
    check_folder("out", arguments.out)
    at_least_one(arguments, "jobs", "threads", "epochs")
    seeds = seeds_of(arguments.seeds)
    if not 0 < arguments.fraction <= 1:
        raise UserError(f"--fraction must be above 0 and at most 1, not {arguments.fraction}.")
    overrides = configs.parse_overrides(arguments.overrides)
    more = configs.parse_settings(arguments.settings, suites[0].library)
    for suite in suites:
        check(suite, arguments, overrides, more)
    refuse_unread(suites, arguments, more)

    runs = []
    # Seed by seed, so that a comparison of all methods is there early.
    for seed in seeds:
        for suite in suites:
            epochs = arguments.epochs or suite.epochs
            for name in methods_of(suite, arguments):
                folder = (arguments.out / "runs" / run_name(suite.name, name, seed)).absolute()
                settings = Settings(
                    seed=seed,
                    epochs=epochs,
                    fraction=arguments.fraction,
                    encoder=encoder_path(arguments.encoder),
                    more=configs.settings_of(name, more),
                )
                config = f"// {suite.name}: {name}, seed {seed}. Written by scripts/reproduce.py.\n"
                config += suite.methods[name].write(settings)
                config = configs.with_overrides(config, configs.overrides_of(name, overrides))
                given = configs.given_of(name, settings, overrides)
                own = configs.own_names(name, more, overrides)
                runs.append(Run(suite, name, seed, folder, config, epochs, splits_of(suite, arguments), given, own))
    for run in runs:
        run.check_settings()
    return runs


def methods_of(suite: Suite, arguments: argparse.Namespace) -> list[str]:
    return list(suite.methods) if arguments.methods is None else names_of("methods", arguments.methods)


def splits_of(suite: Suite, arguments: argparse.Namespace) -> tuple[str, ...]:
    """
    The splits to score. The validation split is always among them: its score shows whether the model is the one that
    was trained.
    """
    asked = suite.default_splits if arguments.splits is None else names_of("splits", arguments.splits)
    return tuple(split for split in suite.splits() if asked is None or split in asked or split == suite.validation)


def check(  # noqa: C901 - a condition a mistake
    suite: Suite, arguments: argparse.Namespace, overrides: dict[str, object], more: dict[str, str]
) -> None:
    """Raises `UserError` if the suite cannot do what was asked for."""
    # Messages name a suite of a family by the family, as `--suite` does.
    title = suite.family or suite.name
    named = [("methods", name) for name in methods_of(suite, arguments)]
    for option, keys in (("overrides", overrides), ("settings", more)):
        named += [(option, name) for name in {key.rpartition(":")[0] for key in keys} - {""}]
    for option, name in named:
        if name not in suite.methods:
            raise UserError(f"--{option}: {title} has no method '{name}'; it has {', '.join(suite.methods)}.")
    if suite.encoder is None and not suite.takes_encoder and arguments.encoder is not None:
        raise UserError(f"--encoder: the suite {title} takes none.")
    if suite.encoder is not None and arguments.encoder is None:
        raise UserError(f"--suite {title}: {suite.encoder}.")
    if arguments.fraction != 1 and not suite.takes_fraction:
        raise UserError(f"--fraction: the suite {title} trains on all rows; leave the option out.")
    for split in [] if arguments.splits is None else names_of("splits", arguments.splits):
        if split not in suite.splits():
            raise UserError(
                f"--splits: {suite.name} has no split '{split}' to score; it has {', '.join(suite.splits())}."
            )
    if more and suite.setting_names is None:
        raise UserError(f"--settings: the suite {title} takes none; see --overrides.")
    for method in methods_of(suite, arguments) if more else ():
        known = suite.setting_names(method)
        if not known and configs.settings_of(method, more):
            raise UserError(f"--settings: {method} takes none; name the other methods with --methods.")
        for name, _ in configs.settings_of(method, more):
            if name not in known:
                raise UserError(
                    f"--settings: {title} has no setting '{name}'; it has {', '.join(known)} (for seed and "
                    "epochs see --seeds and --epochs)."
                )
    for path in filter(None, suite.data().values()):
        # A path may be a glob pattern, and may end in `#` and the name of a part of the file.
        if not glob.glob(path.partition("#")[0], root_dir=ROOT):
            raise UserError(f"{path} is missing: put the data in {Path(path).parent}: see data/README.md.")


def refuse_unread(suites: list[Suite], arguments: argparse.Namespace, more: dict[str, str]) -> None:
    """Raises `UserError` if no run reads one of the settings. Without `Suite.read`, the library itself refuses it."""
    for key in more:
        whose, _, name = key.rpartition(":")
        used: list[str] = ["tuned"]
        for suite in suites:
            for method in methods_of(suite, arguments):
                if whose in ("", method):
                    used += [name] if suite.read is None else suite.read(method, configs.settings_of(method, more))
        if name not in used:
            raise UserError(f"--settings: '{key}' changes nothing in what is trained here; leave it out.")


def encoder_path(encoder: Optional[str]) -> Optional[str]:
    """
    The path of a local folder relative to the repository root, where runs start (absolute if it lies outside); a name
    on the hub unchanged.
    """
    if encoder is None or not Path(encoder).is_dir():
        return encoder
    absolute = Path(encoder).absolute()
    return str(absolute.relative_to(ROOT)) if absolute.is_relative_to(ROOT) else str(absolute)


def run_all(runs: list[Run], jobs: int, threads: int, tell: Callable[[], None]) -> dict[str, str]:
    """Finishes the runs, calls `tell` after each; returns what went wrong, by the run's name."""
    failed: dict[str, str] = {}
    runner = Runner(threads)
    todo = []
    for run in runs:
        if run.finished:
            run.tidy()  # There may be a note of an error on a split that is not asked for now.
        else:
            todo.append(run)
    # In epochs, as a run with folds has several times as many; those of before this command say nothing of its speed.
    begun = sum(run.done_epochs() for run in todo)
    bar = tqdm(total=sum(run.all_epochs for run in todo), initial=begun, unit="epoch", smoothing=0, dynamic_ncols=True)
    pool = ThreadPoolExecutor(jobs)
    shown = ""
    try:
        pending = {pool.submit(runner.finish, run): run for run in todo}
        while pending:
            done, _ = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                run = pending.pop(future)
                try:
                    future.result()
                    tell()
                except RunFailed as error:
                    failed[run.name] = str(error)
                    bar.write(f"{run.name} failed: {error}", file=sys.stderr)
            active = [f"{run.name} {run.state}" for run in pending.values() if run.state != "waiting"]
            # Shown only when it changes: a log file keeps every line that a terminal overwrites.
            if "; ".join(active) != shown:
                shown = "; ".join(active)
                left = sum(max(run.all_epochs - run.done_epochs(), 0) for run in pending.values())
                bar.n = bar.total - left
                bar.set_description_str(f"{len(runs) - len(pending)} of {len(runs)} runs", refresh=False)
                bar.set_postfix_str(shown)
    finally:
        runner.stop()
        pool.shutdown(wait=True, cancel_futures=True)
        bar.close()
    return failed


def report(out: Path, label: str, command: str) -> None:
    """Writes the table, the page and the figures from what lies in `out`."""
    from scripts.measure import family_plots, how_trained, machine, plots, results, tables

    suites: dict[str, Suite] = {name: results.with_data(out, suite) for name, suite in all_suites().items()}
    families = list(all_families().values())
    table = results.collect(out)
    results.write_csv(table, out / "results.csv")
    finished, trained = results.finished(out), how_trained.trained_runs(out, suites, table)
    comparisons, warnings = {}, provenance.changes(finished) + how_trained.warnings(suites, trained)
    for name, suite in suites.items():
        comparisons[name], unlike = results.compare(out, suite, table[table["suite"] == name])
        warnings += unlike
    facts = {
        **provenance.facts(finished),
        "this page": f"commit {machine.commit()}, torch {machine.torch_version()}, {machine.machine()}",
        "command of this page": f"`{command}`",
    }
    settings, failed = how_trained.lines(trained), results.failures(out)
    page = tables.page(suites, table, comparisons, failed, facts, label, families, warnings, settings)
    write_text(out / "results.md", page)
    single = {name: suite for name, suite in suites.items() if suite.family is None}
    plots.draw_results(single, table, out / "results.png", label)
    for family in families:
        family_plots.draw_family(family, suites, table, out / f"results_{family.name}.png", label)


def run(arguments: argparse.Namespace, command: str) -> int:
    """Finishes the runs and prints the page; returns the exit status, 1 where a run failed."""
    # Scoring changes the working directory, after which a relative path would mean another folder.
    arguments.out = arguments.out.absolute()
    runs = plan(arguments)
    make_folder("out", arguments.out)
    for sentence in provenance.changes([run.folder for run in runs if run.trained]):
        print(f"warning: {sentence}", file=sys.stderr)

    tell = partial(report, arguments.out, arguments.label, command)
    failed = run_all(runs, arguments.jobs, arguments.threads, tell)
    tell()
    print((arguments.out / "results.md").read_text(encoding="utf-8"))
    if failed:
        print(f"{len(failed)} of {len(runs)} runs failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def main(argv: Optional[list[str]] = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    arguments = parser().parse_args(argv)
    command = f"python scripts/reproduce.py {shlex.join(argv)}"
    return exit_status(lambda: run(arguments, command), stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
