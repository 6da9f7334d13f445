"""Draw the metrics of runs, epoch by epoch, for groups of runs: one setting with several seeds is a group."""

import argparse
import sys
from pathlib import Path
from typing import Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.measure.command import check_file, exit_status
from scripts.measure.files import replacing
from scripts.measure.suite import UserError

EPILOG = """\
A run is a folder that `allennlp train -s` wrote, or one of scripts/reproduce.py (OUT/runs/SUITE-METHOD-SEED). A
value is one of the run's metrics of an epoch, such as validation_accuracy or training_loss_net_loss, or a column
of a trace: l1, l0, energy_gradient_norm, cost_difference and others, by the callback `trace_inference_networks`;
from_draw_f1, from_random_f1 and others, by `trace_inference`. NAME=RUN,RUN:VALUE shows a value of the group's own in
the place of the panel's.

Writes OUT.csv (value, group, run, axis, at, number) and OUT.png, with a panel for each value: thin lines are runs,
a thick line is the mean of a group, as far as all its runs go. A trace within epochs has an axis of batches.

examples:
  python scripts/trajectories.py --out results/trajectories/truncation --values validation_accuracy \\
      'truncation=results/truncated/runs/a-1,results/truncated/runs/a-2' 'no truncation=results/free/runs/a-1'
  python scripts/trajectories.py --out results/trajectories/steps \\
      --values l1,l0,energy_gradient_norm,network_gradient_norm 'k = 1=results/k1' 'k = 5=results/k5'
  python scripts/trajectories.py --out results/trajectories/inference --values validation_f1 \\
      'task-net=results/seal' 'inference from random points=results/seal:from_random_f1' 'SPEN=results/spen'
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("groups", nargs="+", metavar="NAME=RUN,RUN", help="a group: its name in the figure, and its runs' folders")
    add("--out", type=Path, required=True, help="the name of table and figure, without an ending")
    add("--values", default="validation_accuracy", help="separated by commas (default: %(default)s)")
    add("--title", default="", help="above the figure")
    return result


def parse_groups(sources: list[str]) -> tuple[dict[str, list[Path]], dict[str, str]]:
    """The folders of each group, and the values of those groups that have one of their own."""
    groups: dict[str, list[Path]] = {}
    own: dict[str, str] = {}
    for source in sources:
        # The last "=" separates: a name may contain one, such as 'k = 1', a folder hardly ever does.
        name, sign, runs = (part.strip() for part in source.rpartition("="))
        folders, _, value = (part.strip() for part in runs.rpartition(":"))
        if folders and value.isidentifier():
            runs, own[name] = folders, value
        paths = [Path(folder.strip()) for folder in runs.split(",") if folder.strip()]
        if not sign or not name or not paths:
            raise UserError(f"'{source}': a group is NAME=RUN,RUN, a name and the folders of its runs.")
        if name in groups:
            raise UserError(f"the group '{name}' is there twice; name all its runs in one.")
        if len(set(paths)) < len(paths):
            raise UserError(f"the group '{name}' has a run twice.")
        groups[name] = paths
    return groups, own


def files_of(out: Path) -> list[Path]:
    """The paths of the table and of the figure."""
    if out.name in ("", ".."):
        raise UserError(f"--out: {out} is a folder; give the name of table and figure in it.")
    # Not `with_suffix`: a name may have a dot in it, as tau_0.5.
    files = [out.with_name(out.name + ending) for ending in (".csv", ".png")]
    for file in files:
        check_file("out", file)
    return files


def run(arguments: argparse.Namespace) -> None:
    # pandas and matplotlib take their time to import, which `--help` need not wait for.
    from scripts.measure import trajectories

    rows, figure = files_of(arguments.out)
    values = list(dict.fromkeys(name.strip() for name in arguments.values.split(",") if name.strip()))
    if not values:
        raise UserError("--values: name at least one.")
    table = trajectories.collect(*parse_groups(arguments.groups), values)
    with replacing(rows) as draft:
        table.to_csv(draft, index=False)
    trajectories.draw(table, figure, arguments.title)
    print(trajectories.summary(table))
    print(f"{rows}, {figure}")


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    return exit_status(lambda: run(arguments))


if __name__ == "__main__":
    sys.exit(main())
