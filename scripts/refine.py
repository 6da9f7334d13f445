"""Descend the energy of a trained SEAL model's loss-net, to see whether that improves the task-net's output."""

import argparse
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tqdm import tqdm

from scripts.measure.command import at_least_one, check_folder, exit_status, make_folder, mistakes_of_the_library
from scripts.measure.files import replacing
from scripts.measure.suite import ROOT, UserError
from seal.samplers.gradient_based_inference import OPTIMIZERS

EPILOG = """\
Gradient-based inference starts (a) from the task-net's output, (b) from draws from the task-net and (c) from
random points. The point at every step is scored by example F1 at 0.5: if the loss-net knew more than it has
taught the task-net, the curve would rise above the task-net's own score.

Writes to DIR refinement.csv (start, step, f1, f1_least_energy, energy: means over rows and, except for
f1_least_energy, over restarts) and refinement.png.

example:
  python scripts/refine.py results/multilabel/runs/multilabel_bibtex-nce-1/model data/bibtex/valid.arff
"""


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, epilog=EPILOG, formatter_class=style)
    add = result.add_argument
    add("model", type=Path, metavar="MODEL", help="a folder that `allennlp train` wrote, or its model.tar.gz")
    add("data", type=Path, metavar="DATA", help="an ARFF file with labels, such as the validation data")
    add("--steps", type=int, default=100, help="of the descent (default: %(default)s)")
    add("--step-size", type=float, default=0.1, help="in units of labels, 0 to 1 (default: %(default)s)")
    add(
        "--optimizer",
        metavar="NAME",
        default="adam",
        help=f"that takes the steps: {', '.join(OPTIMIZERS)} (default: %(default)s, as of the energy-only configs)",
    )
    add("--restarts", type=int, default=5, help="how many draws and random points a row has (default: %(default)s)")
    add("--batch-size", type=int, default=512, help="rows at a time, at most (default: %(default)s)")
    add("--seed", type=int, default=0, help="of draws and random points (default: %(default)s)")
    add("--threads", type=int, default=1, help="(default: %(default)s)")
    add("--out", type=Path, metavar="DIR", default=Path("results/refine"), help="(default: %(default)s)")
    return result


def check(arguments: argparse.Namespace) -> None:
    at_least_one(arguments, "steps", "restarts", "batch_size", "threads")
    if not arguments.step_size > 0:
        raise UserError(f"--step-size must be above 0, not {arguments.step_size:g}.")
    if arguments.optimizer not in OPTIMIZERS:
        raise UserError(f"--optimizer must be one of {', '.join(OPTIMIZERS)}, not '{arguments.optimizer}'.")
    check_folder("out", arguments.out)
    for path in (arguments.model, arguments.data):
        if not path.exists():
            raise UserError(f"there is no {path}.")


def load(path: Path) -> Any:
    """The archive of a multi-label model that has both nets."""
    import torch
    from allennlp.models import load_archive

    import seal  # noqa: F401
    from seal.models import MultilabelModel, TextMultilabelModel

    if path.is_dir() and not (path / "config.json").is_file():
        raise UserError(f"{path} is not a folder that `allennlp train` wrote.")
    archive = load_archive(str(path), cuda_device=0 if torch.cuda.is_available() else -1)
    model = archive.model
    if not isinstance(model, MultilabelModel) or isinstance(model, TextMultilabelModel):
        raise UserError(f"{path} is a {type(model).__name__}; this script refines multi-label models of features.")
    for name, net in (("loss-net", model.loss_net), ("task-net", model.task_net)):
        if net is None:
            raise UserError(f"{path} is a model without a {name}; take one that SEAL trained, with both nets.")
    return archive


def read(archive: Any, data: Path, batch_size: int) -> list[dict[str, Any]]:
    from seal.dataset_readers.tensor_loader import TensorLoader

    loader = TensorLoader(archive.validation_dataset_reader, str(data), batch_size=batch_size)
    loader.index_with(archive.model.vocab)
    loader.set_target_device(next(archive.model.parameters()).device)
    batches = list(loader)
    if not batches:
        raise UserError(f"{data} has no rows.")
    if "labels" not in batches[0]:
        raise UserError(f"{data} has no labels, so nothing can be scored.")
    return batches


def run(arguments: argparse.Namespace) -> str:
    """Writes the table and the figure; returns a summary of a few lines."""
    import torch

    from scripts.measure import refinement

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    # Paths that the reader's config names are relative to the repository.
    model_path, data, out = (path.absolute() for path in (arguments.model, arguments.data, arguments.out))
    with mistakes_of_the_library(), chdir(ROOT):
        archive = load(model_path)
        batches = read(archive, data, arguments.batch_size)
    make_folder("out", out)
    model = archive.model.eval()
    empty_f1 = archive.config.as_dict(quiet=True)["model"].get("empty_f1", 1.0)
    descent = refinement.Descent(arguments.steps, arguments.step_size, arguments.optimizer, arguments.restarts)
    rows = sum(len(batch["features"]) for batch in batches)
    total = rows * len(refinement.STARTS)
    with tqdm(total=total, desc="rows, three starts each", unit="row", dynamic_ncols=True) as bar:
        table, lines = refinement.refine(model, batches, descent, empty_f1, bar.update)
    with replacing(out / "refinement.csv") as draft:
        table.to_csv(draft, index=False)
    title = f"{data.name}, {rows} rows: {arguments.optimizer}, step size {arguments.step_size:g}"
    refinement.draw(table, lines, out / "refinement.png", title)
    return summary(table, lines) + f"\n{arguments.out}: refinement.csv, refinement.png"


def summary(table: Any, lines: dict[str, float]) -> str:
    told = [f"task-net alone: F1 {lines['task_net_f1']:.2f}, energy {lines['task_net_energy']:.4g}"]
    told.append(f"gold: energy {lines['gold_energy']:.4g}")
    for start, rows in table.groupby("start", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        best = rows.loc[rows["f1"].idxmax()]
        told.append(
            f"from {start}: F1 {first['f1']:.2f} at step 0, {last['f1']:.2f} at step {last['step']} "
            f"({last['f1_least_energy']:.2f} of the least energy), at most {best['f1']:.2f} at step {best['step']}"
        )
    return "\n".join(told)


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)

    def refine() -> None:
        check(arguments)
        print(run(arguments))

    return exit_status(refine)


if __name__ == "__main__":
    sys.exit(main())
