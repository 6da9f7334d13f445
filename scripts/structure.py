"""Measure what structure adds to scikit-learn's classifiers on sets of labels."""

import argparse
import os
import shlex
import sys
import warnings
from contextlib import chdir
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm

from scripts.measure.command import at_least_one, check_folder, exit_status, make_folder
from scripts.measure.files import read_json, write_json, write_text
from scripts.measure.suite import ROOT, UserError

LOGISTIC = ("logistic regression", "logistic regression by lbfgs")
TASK_NETS = (*LOGISTIC, "random forest")
EPILOG = """\
For each data set and classifier: the classifier's setting is chosen from a small grid on held-out fifths of the
training data, of 1,000 rows or all; its thresholds, the energy and the decision are chosen on scores of folds (train
and validation data together); the test data is scored once. `own` is the classifier with the best threshold for each
score. p: paired bootstrap over the test rows, seeds pooled, after Holm over the data sets.

The same command goes on where a stopped one was. Writes to DIR a run for each data set, classifier and seed,
results.csv and results.md.

`python scripts/structure.py calibration MODEL FILE` measures how far the probabilities of a model can be trusted; see
`calibration --help`.

example:
  python scripts/structure.py --data sample,bibtex,text:reuters --seeds 3
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add(
        "--data",
        default="",
        metavar="NAMES",
        help="of training_configs/lib/multilabel.libsonnet, text:NAME of text.libsonnet (TF-IDF), or "
        "folder:NAME for the ARFF files and the XML of data/NAME or of a folder of your own, or texts:FOLDER for "
        "train.*, dev.* and test.* of your own (paths from the repository's root, or absolute); commas between",
    )
    add("--task-nets", default=",".join(TASK_NETS), metavar="NAMES", help="(default: %(default)s)")
    add("--skip", default="", metavar="DATA/NAME,...", help="pairs of data and classifier that are left out")
    add("--seeds", type=int, default=3, help="(default: %(default)s)")
    add("--shuffle", action="store_true", help="split all rows anew for each seed, equal ones into the same part")
    add("--others", action="store_true", help="also what other libraries have for whole sets, seed 1")
    add("--out", type=Path, metavar="DIR", default=Path("results/structure"), help="(default: %(default)s)")
    return result


def check(arguments: argparse.Namespace) -> None:
    at_least_one(arguments, "seeds")
    if arguments.others and arguments.shuffle:
        raise UserError("--others: rivals have the given split alone; leave --shuffle out.")
    if not arguments.data:
        raise UserError("--data: name at least one data set; see --help.")
    for name in arguments.task_nets.split(","):
        if name not in TASK_NETS:
            raise UserError(f"--task-nets: one of {', '.join(TASK_NETS)}, not '{name}'.")
    check_folder("out", arguments.out)


def run(arguments: argparse.Namespace, command: str) -> None:
    check(arguments)
    make_folder("out", arguments.out)
    out = arguments.out.resolve()
    skipped = set(filter(None, arguments.skip.split(",")))
    pairs = [
        (data, net)
        for data in arguments.data.split(",")
        for net in arguments.task_nets.split(",")
        if f"{data}/{net}" not in skipped
    ]
    # Of a rare label, the part of the data that a classifier is fitted to may have no row; there are hundreds of these.
    warnings.filterwarnings("ignore", message="Label .* is present in all")
    with chdir(ROOT), tqdm(total=len(pairs) * arguments.seeds, desc="runs", unit="run") as bar:
        for data, net in pairs:
            _measure(data, net, arguments, out, bar)
    from scripts.measure import results, structure_tables

    names = [(data, net, _folder(out, data, net)) for data, net in pairs]
    page = structure_tables.page(names, arguments.seeds, command, arguments.shuffle)
    write_text(out / "results.md", page.text)
    results.write_csv(page.table, out / "results.csv")
    print(f"wrote {arguments.out / 'results.md'}")


def _folder(out: Path, data: str, net: str) -> Path:
    return out / "runs" / f"{data.replace(':', '_').replace('/', '_')}-{net.replace(' ', '_')}"


def _measure(data: str, net: str, arguments: argparse.Namespace, out: Path, bar: tqdm) -> None:
    folder = _folder(out, data, net)
    paths = {seed: folder / f"{seed}.json" for seed in range(1, arguments.seeds + 1)}
    others_path = folder / "others.json"
    with_others = arguments.others and net in LOGISTIC and not others_path.exists()
    missing = [seed for seed, path in paths.items() if not path.exists()]
    bar.update(arguments.seeds - len(missing))
    if not missing and not with_others:
        return
    from scripts.measure import classifiers, machine

    bar.set_postfix_str(f"{data}, {net}: reading")
    rows = classifiers.read(data)
    setting_path = folder / "setting.json"
    if not setting_path.exists():
        bar.set_postfix_str(f"{data}, {net}: choosing a setting")
        write_json(setting_path, classifiers.chosen_setting(net, rows))
    make = classifiers.maker(net, read_json(setting_path))
    for seed in missing:
        bar.set_postfix_str(f"{data}, {net}, seed {seed}")
        found = classifiers.measure(rows.shuffled(seed) if arguments.shuffle else rows, make, seed)
        found["report"]["commit"], found["report"]["machine"] = machine.commit(), machine.machine()
        found["report"]["size"] = [rows.train.shape[0], rows.test.shape[0], rows.train_gold.shape[1]]
        write_json(paths[seed], {"report": found["report"], "rows": {k: v.tolist() for k, v in found["rows"].items()}})
        bar.update()
    if with_others:
        bar.set_postfix_str(f"{data}: other classifiers of whole sets")
        write_json(others_path, classifiers.others(rows, make, 1))


def main(argv: Optional[list[str]] = None) -> int:
    # Set before torch and the libraries below scikit-learn are imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["calibration"]:
        from scripts.measure import calibration

        asked = calibration.parser("structure.py calibration").parse_args(argv[1:])
        return exit_status(lambda: calibration.run(asked))
    arguments = parser().parse_args(argv)
    command = f"python scripts/structure.py {shlex.join(argv)}"
    return exit_status(lambda: run(arguments, command), stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
