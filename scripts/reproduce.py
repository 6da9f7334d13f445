"""Train every method of a suite with several seeds, and compare them in a table and a figure."""

import argparse
import os
import shlex
import signal
import sys
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Callable, Dict, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm  # noqa: E402

from scripts.measure import configs  # noqa: E402
from scripts.measure.files import write_text  # noqa: E402
from scripts.measure.runs import Run, Runner, RunFailed, Stopped, run_name  # noqa: E402
from scripts.measure.suite import ROOT, Settings, Suite, UserError, all_suites  # noqa: E402

EPILOG = """\
Everything of a run lies in OUT/runs/SUITE-METHOD-SEED: its config.jsonnet, which plain `allennlp train` takes
too (from the repository root), its log, its model, and what each frame of dev and test adds to the scores.
Started again after whatever end, the same command goes on where it stopped; more seeds or methods may be
asked for later, and join the same tables: OUT/results.csv, OUT/results.md, OUT/results.png.

examples:
  python scripts/reproduce.py --suite srl_sample --seeds 3 --out results/srl_sample
  python scripts/reproduce.py --suite srl_sample --methods crf,nce --epochs 2 --fraction 0.1 --out results/try
  python scripts/reproduce.py --suite srl_ewt --encoder bert-base-uncased --jobs 2 --threads 4 \\
      --out results/ewt --overrides '{"trainer.patience": 2, "nce:model.sampler.num_samples": 100}'
"""


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--suite", required=True, help="what is measured: " + ", ".join(all_suites()))
    result.add_argument("--out", required=True, type=Path, help="the folder for runs and results")
    result.add_argument("--methods", help="separated by commas (default: all of the suite)")
    result.add_argument("--seeds", type=int, default=3, help="so many: 1, 2, ... (default: %(default)s)")
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
    result.add_argument("--label", default="", help="the heading of table and figure")
    return result


def plan(arguments: argparse.Namespace) -> List[Run]:
    """The runs that are asked for."""
    suites = all_suites()
    if arguments.suite not in suites:
        raise UserError(f"--suite: there is no suite '{arguments.suite}'; there are {', '.join(suites)}.")
    suite = suites[arguments.suite]
    methods = list(suite.methods)
    if arguments.methods:
        methods = list(dict.fromkeys(name.strip() for name in arguments.methods.split(",") if name.strip()))
    for name in methods:
        if name not in suite.methods:
            raise UserError(
                f"--methods: {suite.name} has no method '{name}'; it has {', '.join(suite.methods)}."
            )
    if suite.encoder is None and arguments.encoder is not None:
        raise UserError(f"--encoder: the suite {suite.name} takes none.")
    if suite.encoder is not None and arguments.encoder is None:
        raise UserError(f"--suite {suite.name}: {suite.encoder}.")
    for option in ("seeds", "jobs", "threads", "epochs"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise UserError(f"--{option} must be at least 1, not {value}.")
    if not 0 < arguments.fraction <= 1:
        raise UserError(f"--fraction must be above 0 and at most 1, not {arguments.fraction}.")
    for path in filter(None, suite.data().values()):
        if not (ROOT / path).exists():
            raise UserError(f"{path} is missing: put the data in {Path(path).parent}: see README.md.")
    overrides = configs.parse_overrides(arguments.overrides)
    for name in {key.rpartition(":")[0] for key in overrides} - {""}:
        if name not in suite.methods:
            raise UserError(
                f"--overrides: {suite.name} has no method '{name}'; it has {', '.join(suite.methods)}."
            )

    runs = []
    epochs = arguments.epochs or suite.epochs
    # Seed by seed, so that a comparison of all methods is there early.
    for seed in range(1, arguments.seeds + 1):
        for name in methods:
            folder = (arguments.out / "runs" / run_name(suite.name, name, seed)).absolute()
            settings = Settings(
                library=os.path.relpath(ROOT / "training_configs" / "lib", folder),
                seed=seed,
                epochs=epochs,
                fraction=arguments.fraction,
                encoder=encoder_path(arguments.encoder),
            )
            config = f"// {suite.name}: {name}, seed {seed}. Written by scripts/reproduce.py.\n"
            config += suite.methods[name].write(settings)
            config = configs.with_overrides(config, configs.overrides_of(name, overrides))
            runs.append(Run(suite, name, seed, folder, config, epochs))
    for run in runs:
        run.check_settings()
    return runs


def encoder_path(encoder: Optional[str]) -> Optional[str]:
    """A local folder as it is found from the repository root, where runs start; a hub's name as it is."""
    if encoder is None or not Path(encoder).is_dir():
        return encoder
    absolute = Path(encoder).absolute()
    return str(absolute.relative_to(ROOT)) if absolute.is_relative_to(ROOT) else str(absolute)


def run_all(runs: List[Run], jobs: int, threads: int, tell: Callable[[], None]) -> Dict[str, str]:
    """Finishes the runs, calls `tell` after each; returns what went wrong, by the run's name."""
    failed: Dict[str, str] = {}
    runner = Runner(threads)
    todo = [run for run in runs if not run.finished]
    bar = tqdm(total=len(runs), initial=len(runs) - len(todo), desc="runs", unit="run", dynamic_ncols=True)
    pool = ThreadPoolExecutor(jobs)
    shown = ""
    try:
        pending = {pool.submit(runner.finish, run): run for run in todo}
        while pending:
            done, _ = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                run = pending.pop(future)
                bar.update()
                try:
                    future.result()
                    tell()
                except RunFailed as error:
                    failed[run.name] = str(error)
                    bar.write(f"{run.name} failed: {error}", file=sys.stderr)
            active = [f"{run.name} {run.state}" for run in pending.values() if run.state != "waiting"]
            # Only what changed: a log file keeps every line that a terminal overwrites.
            if active and "; ".join(active) != shown:
                shown = "; ".join(active)
                bar.set_postfix_str(shown)
    finally:
        runner.stop()
        pool.shutdown(wait=True, cancel_futures=True)
        bar.close()
    return failed


def report(out: Path, label: str, command: str) -> None:
    """Writes table, page and figure from what lies in `out`."""
    from scripts.measure import machine, plots, results, tables

    suites: Dict[str, Suite] = all_suites()
    table = results.collect(out)
    results.write_csv(table, out / "results.csv")
    comparisons = {
        name: results.compare(out, suite, table[table["suite"] == name]) for name, suite in suites.items()
    }
    facts = {
        "commit": machine.commit(),
        "machine": machine.machine(),
        "torch": machine.torch_version(),
        "command": f"`{command}`",
    }
    page = tables.page(suites, table, comparisons, results.failures(out), facts, label)
    write_text(out / "results.md", page)
    plots.draw_results(suites, table, out / "results.png", label)


def main(argv: Optional[List[str]] = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    arguments = parser().parse_args(argv)
    try:
        runs = plan(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2

    def end(number: int, _) -> None:
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        command = f"python scripts/reproduce.py {shlex.join(argv)}"
        tell = partial(report, arguments.out, arguments.label, command)
        failed = run_all(runs, arguments.jobs, arguments.threads, tell)
        tell()
    except (KeyboardInterrupt, Stopped):
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, previous)
    print((arguments.out / "results.md").read_text(encoding="utf-8"))
    if failed:
        print(f"{len(failed)} of {len(runs)} runs failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
