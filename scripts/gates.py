"""Keep what each option of a structure's gate scores on many data sets, to compare gates and to learn their prior."""

import argparse
import os
import sys
import time
from contextlib import chdir
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm

from scripts.measure.command import at_least_one, check_folder, exit_status, make_folder
from scripts.measure.suite import ROOT


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(description=__doc__)
    add = result.add_argument
    add("--seeds", type=int, default=2, help="(default: %(default)s)")
    add("--out", type=Path, metavar="DIR", default=Path("runs/gates"), help="(default: %(default)s)")
    return result


def run(arguments: argparse.Namespace) -> None:
    at_least_one(arguments, "seeds")
    check_folder("out", arguments.out)
    make_folder("out", arguments.out)
    collect(arguments.out.resolve(), arguments.seeds)


def collect(out: Path, seeds: int) -> None:
    """Scores the options of each data set, unless an earlier run has."""
    import torch

    from scripts.measure import option_scores

    with chdir(ROOT), tqdm(list(option_scores.setups(seeds)), unit="set") as bar:
        for setup in bar:
            bar.set_postfix_str(f"{setup.data}, {setup.net}, seed {setup.seed}")
            path = out / setup.file
            if not path.exists():
                started = time.process_time()
                found = option_scores.collect(setup)
                found |= {"setup": tuple(setup), "seconds": time.process_time() - started}
                draft = path.with_suffix(".part")
                torch.save(found, draft)
                draft.replace(path)


def main(argv: Optional[list[str]] = None) -> int:
    # Set before torch and the libraries below scikit-learn are imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    arguments = parser().parse_args(argv)
    return exit_status(lambda: run(arguments), stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
