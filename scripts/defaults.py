"""
Which defaults the BiLSTM encoders should have: a search of one setting after another, the same for each task.

The defaults of before are the first trial of a task, a CRF on one seed. Then each setting in turn is given its other
values, with the best found so far for the rest; a value is taken if it is better on dev by at least --margin. Test data
are never read. Each trial is a line of OUT/TASK.jsonl, and the same command goes on with a search that was stopped; it
writes OUT/defaults.md.

example:
  python scripts/defaults.py --tasks wnut17,twitter_pos --out results/defaults
"""

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.measure import configs, machine, trials
from scripts.measure.command import exit_status, make_folder
from scripts.measure.files import write_text
from scripts.measure.suite import ROOT, Settings, UserError, all_suites
from scripts.reproduce import names_of

DECAY = "{ type: 'slanted_triangular', cut_frac: 0.1 }"
#: The settings in the order in which they are searched, with their values, as jsonnet.
AXES: dict[str, tuple[str, ...]] = {
    "characters": ("0", "24"),
    "task_net_lr": ("1e-3", "3e-3"),
    "word_dropout": ("0", "0.25"),
    "scheduler": ("null", DECAY),
    "dropout": ("0.3", "0.5"),
}
SHORT = {DECAY: "rise and fall", "null": "constant"}
SHOWN = ("f1", "accuracy", "exact_match", "ucr")
TAGS = {"word_dropout": "0", "characters": "0", "task_net_lr": "1e-3", "scheduler": "null", "dropout": "0.3"}
ROLES = {**TAGS, "characters": "24", "task_net_lr": "3e-3"}


@dataclass(frozen=True)
class Task:
    #: That of `scripts/reproduce.py`, and the heading of its table.
    suite: str
    what: str
    epochs: int
    #: The defaults when the search was made.
    before: dict[str, str]
    fraction: float = 1.0
    overrides: dict[str, Any] = field(default_factory=dict)

    def config(self, settings: dict[str, str], seed: int) -> str:
        asked = Settings(seed, self.epochs, fraction=self.fraction, more=tuple(settings.items()))
        return configs.with_overrides(all_suites()[self.suite].methods["crf"].write(asked), self.overrides)


def first(number: int) -> dict[str, Any]:
    return {"dataset_reader.max_instances": number}


TASKS = {
    "wnut17": Task("tagging_wnut17", "entities: WNUT-17", 12, TAGS),
    "twitter_pos": Task("tagging_twitter_pos", "parts of speech: tweets", 12, TAGS),
    "ud_ewt_pos": Task(
        "tagging_ud_ewt_pos",
        "parts of speech: UD English Web Treebank, 3,000 sentences of train",
        6,
        TAGS,
        1.0,
        first(3000),
    ),
    "ewt": Task("srl_ewt_halves", "roles: English Web Treebank, a tenth of train, dev's first half", 6, ROLES, 0.1),
    "tagging_sample": Task("tagging_sample", "entities: made-up sample", 10, {**TAGS, "task_net_lr": "5e-3"}),
    "srl_sample": Task("srl_sample", "roles: made-up sample", 15, ROLES),
}


def parser() -> argparse.ArgumentParser:
    style = argparse.RawDescriptionHelpFormatter
    result = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    add = result.add_argument
    add("--tasks", default=",".join(TASKS), help="separated by commas (default: %(default)s)")
    add("--out", type=Path, default=Path("results/defaults"), help="(default: %(default)s)")
    add("--margin", type=float, default=0.3, help="points of dev that a change must gain (default: %(default)s)")
    add("--seed", type=int, default=1, help="(default: %(default)s)")
    return result


class Search:
    """The search of one task, with the trials that its file has."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        self.task, self._arguments = TASKS[name], arguments
        self.selection = all_suites()[self.task.suite].selection
        self._path = arguments.out / f"{name}.jsonl"
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.is_file() else []
        self.kept: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self.best: dict[str, str] = {}

    def value(self, trial: dict[str, Any]) -> float:
        return trial["scores"][self.selection]

    def run(self) -> None:
        """Runs the trials that are missing, and sets `best`."""
        best = self._tried(self.task.before)
        for axis, values in AXES.items():
            others = [value for value in values if value != best["settings"][axis]]
            found = max((self._tried({**best["settings"], axis: value}) for value in others), key=self.value)
            if self.value(found) >= self.value(best) + self._arguments.margin:
                best = found
        self.best = best["settings"]

    def _tried(self, settings: dict[str, str]) -> dict[str, Any]:
        config = self.task.config(settings, self._arguments.seed)
        for trial in self.kept:
            if trial["settings"] == settings and trial["seed"] == self._arguments.seed:
                return trial
        path = self._path.with_suffix(".jsonnet")
        write_text(path, config)
        start = time.process_time()
        found = trials.Trainings(str(path), self.selection, verbose=False).metrics()
        trial = {
            "settings": settings,
            "seed": self._arguments.seed,
            "scores": {name: found[f"best_validation_{name}"] for name in SHOWN if f"best_validation_{name}" in found},
            "best_epoch": found["best_epoch"] + 1,
            "cpu_seconds": round(time.process_time() - start),
            "begun": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "commit": machine.commit(),
            "machine": machine.machine(),
        }
        self.kept.append(trial)
        write_text(self._path, "".join(json.dumps(trial) + "\n" for trial in self.kept))
        print(f"{self.task.suite}: {self.value(trial):.2f} with {told(settings)}", flush=True)
        return trial

    def table(self) -> list[str]:
        """A row a trial: what differs from the defaults of before, and the scores on dev."""
        suite, before = all_suites()[self.task.suite], self.task.before
        names = [name for name in SHOWN if name in self.kept[0]["scores"]]
        headings = ["settings", *(suite.metrics[name] for name in names), "best epoch", "CPU seconds"]
        lines = [f"## {self.task.what}", "", f"{self.task.epochs} epochs; train `{suite.data()['train']}`.", ""]
        lines += [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|"]
        for trial in self.kept:
            changed = {name: value for name, value in trial["settings"].items() if value != before[name]}
            shown = told(changed) if changed else f"before: {told(before)}"
            cells = [f"**{shown}**" if trial["settings"] == self.best else shown]
            cells += [f"{trial['scores'][name]:.2f}" for name in names]
            lines.append(f"| {' | '.join([*cells, str(trial['best_epoch']), str(trial['cpu_seconds'])])} |")
        about = {f"commit {trial['commit']}, {trial['machine']}, seed {trial['seed']}" for trial in self.kept}
        return [*lines, "", *(f"* {line}" for line in sorted(about)), ""]


def told(settings: dict[str, str]) -> str:
    return ", ".join(f"{name} {SHORT.get(value, value)}" for name, value in settings.items())


def run(arguments: argparse.Namespace) -> None:
    names = names_of("tasks", arguments.tasks)
    for name in names:
        if name not in TASKS:
            raise UserError(f"--tasks: there is no task '{name}'; there are {', '.join(TASKS)}.")
    arguments.out = arguments.out.absolute()
    make_folder("out", arguments.out)
    from allennlp.common.util import import_module_and_submodules

    import_module_and_submodules("seal")
    os.chdir(ROOT)  # Data paths of configs are relative to it.
    page = [
        f"Best of each table in bold; a change is taken for at least {arguments.margin:g} points of the first score.",
        "",
    ]
    for name in names:
        search = Search(name, arguments)
        search.run()
        page += search.table()
        write_text(arguments.out / "defaults.md", "\n".join(page))
    print("\n".join(page))


def main(argv: Optional[list[str]] = None) -> int:
    arguments = parser().parse_args(argv)
    return exit_status(partial(run, arguments), stopped="stopped; the same command goes on from here")


if __name__ == "__main__":
    sys.exit(main())
