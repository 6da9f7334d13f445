"""
Time whole trainings of working trees in turns: CPU seconds, with those of child processes, and elapsed seconds.

    git worktree add ../seal-before COMMIT
    python scripts/upkeep/time_trainings.py before=../seal-before now=. --cases sample,ewt_quarter --rounds 3

With `--threads 2` the nets of folds are trained beside each other; elapsed seconds need an idle machine.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

_CONFIG = """
local srl = import 'seal/srl.libsonnet';
srl.experiment(
  data=srl.data.%s,
  encoder=srl.encoder.bilstm(),
  method=srl.method.structured(),
  training=srl.training.sample { epochs: %d, fraction: %g },
)
"""
#: The data, epochs and share of train of each training.
CASES = {"sample": ("sample", 2, 1), "ewt_quarter": ("ewt", 1, 0.25)}


def timed(command: list[str], folder: str, environment: dict[str, str]) -> tuple[float, float]:
    """The CPU seconds of a command and all its child processes, and the elapsed seconds."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            sys.exit(f"error: {' '.join(command)} in {folder} ended with status {process.returncode}:\n{log.read()}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start


def train(case: str, tree: str, threads: int) -> tuple[float, float]:
    data, epochs, fraction = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.jsonnet")
        path.write_text(_CONFIG % (data, epochs, fraction), encoding="utf-8")
        command = [sys.executable, "-m", "seal", "train", str(path), "-s", f"{folder}/run"]
        environment = {"PYTHONPATH": f"{tree}:{tree}/scripts", "OMP_NUM_THREADS": str(threads)}
        return timed(command, tree, environment)


def rows(case: str, found: dict[str, list[tuple[float, float]]]) -> list[str]:
    """A line of a table for each tree: minimum, median and maximum of CPU seconds and of elapsed seconds."""
    lines = []
    for name, times in found.items():
        cells = (" / ".join(f"{value(part):.1f}" for value in (min, median, max)) for part in zip(*times))
        lines.append(f"| {case}, {name} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", metavar="NAME=FOLDER", help="working trees of this repository")
    parser.add_argument("--cases", default=",".join(CASES), help=f"among {', '.join(CASES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    trees = {name: os.path.abspath(folder) for name, _, folder in (tree.partition("=") for tree in arguments.trees)}
    print("| training | CPU seconds: minimum / median / maximum | elapsed seconds |\n|---|---|---|", flush=True)
    for case in arguments.cases.split(","):
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in trees}
        for _ in range(arguments.rounds):
            for name, tree in trees.items():
                found[name].append(train(case, tree, arguments.threads))
                print(case, name, *found[name][-1], file=sys.stderr, flush=True)
        print("\n".join(rows(case, found)), flush=True)


if __name__ == "__main__":
    main()
