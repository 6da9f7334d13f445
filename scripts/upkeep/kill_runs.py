"""
Kills runs at random moments, continues them with --recover, and compares each with a run that was not killed: weights,
metrics and what a structure or a student has learned, bit for bit. Every run is a process of its own, whose whole group
is killed (SIGKILL), and which is killed again with a chance of one in three when it goes on.

    python scripts/upkeep/kill_runs.py --kills 8 --seed 1
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NamedTuple, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.util import import_module_and_submodules

ROOT = Path(__file__).resolve().parents[2]
AGAIN = 1 / 3

#: How many instances of a sample's file are kept, by its ending.
FEW = {".arff": 96, ".tsv": 60, ".gold_conll": 60, ".jsonl": 64, ".npz": 12}
_SMALL = {"trainer.num_epochs": 3}
_OFTEN = {"trainer.checkpointer": {"save_every_num_batches": 2}}

#: By kind: a config of training_configs and the overrides that make it small, or what it is about.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "cross-entropy": ("multilabel_cross_entropy", _SMALL),
    "NCE, a checkpoint every two batches": ("multilabel_nce", {**_SMALL, **_OFTEN}),
    "implicit gradients": ("multilabel_implicit_cd", {**_SMALL, **_OFTEN}),
    "a frozen loss-net, phases": (
        "multilabel_static_nce",
        {"trainer.num_epochs": 4, "trainer.phases": [{"epochs": 2, "train": "loss_net"}, {"train": "task_net"}]},
    ),
    "deep value network": ("multilabel_dvn", _SMALL),
    "structure, folds": ("multilabel_structured", {**_SMALL, "trainer.folds": 2}),
    "averaged weights": (
        "multilabel_nce",
        {**_SMALL, **_OFTEN, "trainer.moving_average": {"type": "exponential", "decay": 0.9}},
    ),
    "tags, CRF": ("tagging_crf", _SMALL),
    "tags, num_workers": (
        "tagging_nce",
        {
            **_SMALL,
            **_OFTEN,
            "data_loader": {"batch_size": 8, "shuffle": True, "num_workers": 2, "max_instances_in_memory": 20},
        },
    ),
    "tags, batches_per_epoch": (
        "tagging_nce",
        {**_SMALL, **_OFTEN, "data_loader": {"batch_size": 8, "shuffle": True, "batches_per_epoch": 5}},
    ),
    "tags, two processes": ("tagging_nce", {**_SMALL, "distributed": {"cuda_devices": [-1, -1]}}),
    # Three epochs are of its last two phases.
    "inference networks": ("tagging_margin_rescaled", {"trainer.num_epochs": 5}),
    "roles, self-training": (
        "srl_self_training",
        {
            "trainer.num_epochs": 2,
            "trainer.folds": 2,
            "dataset_reader.fraction": 0.5,
            "data_loader.batches_per_epoch": 6,
        },
    ),
    "texts, ranking, a schedule": (
        "text_ranking",
        {
            **_SMALL,
            **_OFTEN,
            "trainer.task_net.learning_rate_scheduler": {"type": "slanted_triangular", "cut_frac": 0.1},
        },
    ),
    "masks": ("shapes_regression", {**_SMALL, **_OFTEN}),
}


class Trial(NamedTuple):
    """A run that was killed."""

    #: After which it was killed, counted from each of its starts.
    seconds: list[float]
    #: In what it differs from the run that was not killed.
    difference: Optional[str]


def cut(source: Path, target: Path, number: int) -> None:
    """A file of a sample with its first instances alone."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".npz":
        with numpy.load(source) as arrays:
            numpy.savez(target, **{name: arrays[name][:number] for name in arrays})
        return
    content = source.read_text(encoding="utf-8")
    if source.suffix == ".arff":
        head, mark, rows = content.partition("@data\n")
        content = head + mark + "".join(rows.splitlines(keepends=True)[:number])
    elif source.suffix == ".jsonl":
        content = "".join(content.splitlines(keepends=True)[:number])
    else:
        content = "\n\n".join(content.split("\n\n")[:number]) + "\n\n"
    target.write_text(content, encoding="utf-8")


def config_of(kind: str, folder: Path) -> dict[str, Any]:
    """The config of a kind, on files of few instances in `folder`."""
    name, overrides = KINDS[kind]
    path = ROOT / "training_configs" / f"{name}.jsonnet"
    config = Params.from_file(str(path), params_overrides=json.dumps(overrides)).as_dict(quiet=True)

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: moved(part) for key, part in value.items()}
        if isinstance(value, str) and value.startswith("data/") and Path(value).suffix in FEW:
            if not (folder / value).exists():
                cut(ROOT / value, folder / value, FEW[Path(value).suffix])
            return str(folder / value)
        return str(ROOT / value) if isinstance(value, str) and value.startswith("data/") else value

    return moved(config)


def start(config: dict[str, Any], folder: Path) -> int:
    """Starts or continues a run in a process, the head of a group of its own, and returns its id."""
    recover = folder.is_dir() and any(folder.iterdir())
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.setsid()
        with open(f"{folder}.log", "a") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        train_model(Params(json.loads(json.dumps(config))), str(folder), recover=recover)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def ended(process: int, seconds: float) -> Optional[int]:
    """The exit status of the process, which is killed after so many seconds: `None` then."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    try:
        os.killpg(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # It is no head of a group yet; a Mac says the second.
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def outcome(folder: Path) -> dict[str, Any]:
    """What is compared of a run that has ended: tensors, and the rest of what it found, by name."""
    found: dict[str, Any] = dict(torch.load(folder / "best.th", map_location="cpu"))
    for path in sorted(folder.glob("**/*.json")):
        if path.name == "metrics.json" or path.name.startswith("metrics_epoch_") or path.name in _LEARNED:
            values = json.loads(path.read_text(encoding="utf-8"))
            for key, value in values.items():
                if not any(word in key for word in _OF_THE_COURSE):
                    found[f"{path.relative_to(folder)}: {key}"] = value
    for path in sorted((folder / "vocabulary").glob("*.txt")):
        found[f"vocabulary/{path.name}"] = path.read_bytes()
    return found


_LEARNED = ("structure.json", "self_training.json")
# What a run notes of its course, which a continued one has another of.
_OF_THE_COURSE = ("duration", "memory", "training_start_epoch", "training_epochs")


def difference(one: dict[str, Any], other: dict[str, Any]) -> Optional[str]:
    """The names of what differs, or `None`."""
    names = [
        name for name in {**one, **other} if name not in one or name not in other or not _same(one[name], other[name])
    ]
    return f"{len(names)} of {len(one)} differ: {', '.join(names[:5])}" if names else None


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one.nan_to_num(7.5), other.nan_to_num(7.5))
    return one == other or one != one and other != other


def trial(config: dict[str, Any], folder: Path, whole: dict[str, Any], seconds: float, draw: random.Random) -> Trial:
    """Kills a run after a random time below `seconds`, perhaps several times, and lets it end."""
    killed: list[float] = []
    status: Optional[int] = None
    while status is None:
        kill_now = not killed or draw.random() < AGAIN
        after = draw.uniform(0, seconds) if kill_now else 100 * seconds + 600
        status = ended(start(config, folder), after)
        if status is None:
            if not kill_now:
                return Trial(killed, "does not end")
            killed.append(after)
    if status != 0:
        last = Path(f"{folder}.log").read_text(encoding="utf-8").strip().splitlines()[-1:]
        return Trial(killed, f"ended with status {status}: {' '.join(last)}")
    return Trial(killed, difference(whole, outcome(folder)))


def try_kind(kind: str, kills: int, seed: int, folder: Path) -> tuple[int, list[Trial]]:
    """Kills runs of a kind until there were so many kills, and returns their number and the trials."""
    config, draw = config_of(kind, folder), random.Random(f"{seed} {kind}")
    begun = time.monotonic()
    status = ended(start(config, folder / "whole"), 3600)
    seconds = time.monotonic() - begun
    if status != 0:
        last = (folder / "whole.log").read_text(encoding="utf-8").strip().splitlines()[-1:]
        return 0, [Trial([], f"the run that is not killed ends with status {status}: {' '.join(last)}")]
    whole, trials = outcome(folder / "whole"), []
    while sum(len(done.seconds) for done in trials) < kills:
        run = folder / f"run{len(trials)}"
        trials.append(trial(config, run, whole, seconds, draw))
        if trials[-1].difference is None:
            shutil.rmtree(run, ignore_errors=True)
    return sum(len(done.seconds) for done in trials), trials


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=8, help="of each kind, at least (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    kinds = list(KINDS)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds, metavar="KIND", help="; ".join(kinds))
    parser.add_argument("--out", type=Path, help="keep the runs that differ here; otherwise they are removed")
    arguments = parser.parse_args()
    if arguments.out is not None:
        arguments.out.mkdir(parents=True, exist_ok=True)
    # Before a process is forked, so that none has to import it anew.
    import_module_and_submodules("seal")
    torch.set_num_threads(1)
    kills = differences = 0
    for kind in arguments.kinds:
        folder = Path(tempfile.mkdtemp(prefix="kill-", dir=arguments.out))
        try:
            number, trials = try_kind(kind, arguments.kills, arguments.seed, folder)
        finally:
            if arguments.out is None:
                shutil.rmtree(folder, ignore_errors=True)
        wrong = [done for done in trials if done.difference is not None]
        kills, differences = kills + number, differences + len(wrong)
        print(f"{kind}: {number} kills of {len(trials)} runs, {len(wrong)} differ", flush=True)
        for done in wrong:
            print(f"  killed after {', '.join(f'{s:.2f}' for s in done.seconds)} s: {done.difference}", flush=True)
    print(f"{kills} kills, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
