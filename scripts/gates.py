"""Compare gates on what structures gained on many data sets, and write the gains that the library's gate knows of."""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm

from scripts.measure.command import at_least_one, check_folder, exit_status, make_folder
from scripts.measure.files import write_text
from scripts.measure.suite import ROOT, UserError

#: What is written: the table of earlier gains, and the page whose table is between these lines.
TABLE = ROOT / "seal" / "structure" / "gain_priors.py"
PAGE = ROOT / "docs" / "results" / "gates.md"
START, END = "<!-- measured: written by scripts/gates.py -->", "<!-- end of what scripts/gates.py writes -->"
EPILOG = """\
Of each data set, task-net and seed the options of the gate are scored on validation and on test data, which is kept in
DIR. Label sets: those of StructuredClassifier, fitted to 1,200 rows at most of train and validation data, by whose
held-out scores gates choose, 2,000 rows of test data and the 100 most frequent labels. Tags: a softmax classifier of
words and their neighbours. Then validation data are cut to 100, 300 and 1,000 instances, twice each, and three gates
choose: the library's, whose earlier gains are those of all other data sets, and the test of earlier versions at levels
0.1 and 1.

With --noise gold is drawn from the task-net's own distribution, so that nothing more can be learned.

The same command goes on where a stopped one was.
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("--seeds", type=int, default=2, help="(default: %(default)s)")
    add("--skip", default="", metavar="DATA,...", help="data sets that are left out, as expr_fun takes long")
    add("--noise", action="store_true", help="draw gold from the task-nets")
    add("--kept", action="store_true", help="only by what earlier runs have kept in DIR")
    add("--write", action="store_true", help="write the table of gains into the library, and the page")
    add("--out", type=Path, metavar="DIR", default=Path("runs/gates"), help="(default: %(default)s)")
    return result


def run(arguments: argparse.Namespace, command: str) -> None:
    at_least_one(arguments, "seeds")
    if arguments.noise and arguments.write:
        raise UserError("--write: made-up gold is no earlier data set; leave --noise out.")
    check_folder("out", arguments.out)
    out = arguments.out / "noise" if arguments.noise else arguments.out
    make_folder("out", out)
    paths = list(collect(out.resolve(), arguments.seeds, arguments.noise, arguments.kept, arguments.skip))
    from scripts.measure import gate_replay, machine

    found = [trial for path in paths for trial in gate_replay.trials(path)]
    if arguments.noise:
        print(gate_replay.noise_table(found))
        return
    noise = arguments.out.resolve() / "noise"
    of_noise = [trial for path in sorted(noise.glob("*.pt")) for trial in gate_replay.trials(path)]
    parts = [gate_replay.table(found)]
    parts += [gate_replay.noise_table(of_noise, gate_replay.priors(found))] if of_noise else []
    if not arguments.write:
        print("\n\n".join(parts))
        return
    source = f"commit {machine.commit()}, `{command}`"
    write_text(TABLE, gate_replay.module(TABLE.read_text(encoding="utf-8"), found))
    before, there, rest = PAGE.read_text(encoding="utf-8").partition(START)
    if not there:
        raise UserError(f"{PAGE.name} has no line '{START}'.")
    text = "\n\n".join([START, *parts, f"{source}, {machine.machine()}.", END])
    write_text(PAGE, f"{before}{text}{rest.partition(END)[2]}")


def collect(out: Path, seeds: int, noise: bool, kept: bool = False, skip: str = "") -> Iterator[Path]:
    """Scores the options of each data set, unless an earlier run has; gives where they are kept."""
    if kept:
        yield from sorted(out.glob("*.pt"))
        return
    import torch

    from scripts.measure import option_scores

    setups = option_scores.noisy_setups() if noise else option_scores.setups(seeds)
    setups = [setup for setup in setups if setup.data not in skip.split(",")]
    with chdir(ROOT), tqdm(setups, unit="set") as bar:
        for setup in bar:
            bar.set_postfix_str(f"{setup.data}, {setup.net}, seed {setup.seed}")
            path = out / setup.file
            if not path.exists():
                started = time.process_time()
                found = option_scores.collect(setup, noise)
                found |= {"setup": tuple(setup), "seconds": time.process_time() - started}
                draft = path.with_suffix(".part")
                torch.save(found, draft)
                draft.replace(path)
            yield path


def main(argv: Optional[list[str]] = None) -> int:
    # Set before torch and the libraries below scikit-learn are imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    argv = sys.argv[1:] if argv is None else argv
    arguments = parser().parse_args(argv)
    command = f"python scripts/gates.py {shlex.join(argv)}"
    return exit_status(lambda: run(arguments, command), stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
