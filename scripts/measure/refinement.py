"""Gradient-based inference on a trained loss-net, step by step: scores of the current point, and their figure."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import torch

from scripts.measure.drawing import hide_box, panels, save
from seal.metrics import example_f1
from seal.models import MultilabelModel
from seal.samplers.gradient_based_inference import GradientBasedInference

STARTS = {
    "task_net": "the task-net's output",
    "draw": "draws from the task-net",
    "random": "random points",
}
COLOURS = {"task_net": "#2f5d8a", "draw": "#d95f02", "random": "#1b9e77"}
#: The most numbers that the trajectories of a batch hold (a quarter of a GiB); batches are split so that they fit.
LARGEST = 2**26


@dataclass(frozen=True)
class Descent:
    """The settings of gradient-based inference."""

    #: The number of steps.
    steps: int
    #: In units of labels, which go from 0 to 1.
    step_size: float
    #: The name of the optimizer that takes the steps, as for `GradientBasedInference`.
    optimizer: str
    #: The number of starting points for each row, where these are random.
    restarts: int

    def restarts_of(self, start: str) -> int:
        # The task-net has one output.
        return 1 if start == "task_net" else self.restarts

    def sampler(self, start: str) -> GradientBasedInference:
        return GradientBasedInference(
            num_steps=self.steps,
            step_size=self.step_size,
            optimizer=self.optimizer,
            start=start,
            restarts=self.restarts_of(start),
            keep="trajectory",
        )


def refine(
    model: MultilabelModel,
    batches: list[dict[str, torch.Tensor]],
    descent: Descent,
    empty_f1: float = 1.0,
    told: Callable[[int], Any] = lambda rows: None,
) -> tuple[pandas.DataFrame, dict[str, float]]:
    """
    Descends the energy from each of `STARTS`, and scores every step.

    `batches` have `features`, `(rows, features)`, and gold `labels`, `(rows, labels)`; `empty_f1` is that of the model;
    `told` is called with the number of rows whose descent from one start is done.

    Gives a table with a row for each start and step, where step 0 is the start itself, of means over the rows of the
    data: `f1`, in percent, and `energy` are of all restarts; `f1_least_energy`, in percent, is of the restart whose
    energy is least at that step. And what does not depend on the step: `task_net_f1` and `task_net_energy` of the
    task-net's prediction, and `gold_energy`.
    """
    sums = {start: torch.zeros(3, descent.steps + 1, dtype=torch.double) for start in STARTS}
    known = torch.zeros(3, dtype=torch.double)
    rows = 0
    for batch in batches:
        rows += len(batch["features"])
        for start in STARTS:
            sampler = descent.sampler(start)
            wide = descent.restarts_of(start) * (descent.steps + 1) * model.output_space.num_labels
            size = max(1, LARGEST // wide)
            for features, gold in zip(batch["features"].split(size), batch["labels"].split(size)):
                sums[start] += _descend(model, sampler, features, gold, empty_f1)
                told(len(features))
        known += _known(model, batch["features"], batch["labels"], empty_f1)
    table = []
    for start, values in sums.items():
        for step, (f1, least, energy) in enumerate((values / max(rows, 1)).T.tolist()):
            table.append((start, step, 100 * f1, 100 * least, energy))
    columns = ["start", "step", "f1", "f1_least_energy", "energy"]
    task_net_f1, task_net_energy, gold_energy = (known / max(rows, 1)).tolist()
    lines = {"task_net_f1": 100 * task_net_f1, "task_net_energy": task_net_energy, "gold_energy": gold_energy}
    return pandas.DataFrame(table, columns=columns), lines


@torch.no_grad()
def _descend(model, sampler, features, gold, empty_f1) -> torch.Tensor:
    """Sums over rows, `(3, steps + 1)`: F1, F1 at the least energy, energy."""
    state = model.task_state(features)
    # shape: (rows, (steps + 1) * restarts, labels), step by step
    points = model.sample_with(sampler, state, None).outputs
    energy = model.loss_net(model.frozen_features(state), points)
    wide = gold.bool().unsqueeze(1).expand_as(points)
    f1 = example_f1((points >= 0.5).flatten(0, 1), wide.flatten(0, 1), empty_f1)
    shape = (len(features), sampler.num_steps + 1, sampler.restarts)
    f1, energy = f1.view(shape).double(), energy.view(shape).double()
    least = f1.gather(2, energy.argmin(dim=2, keepdim=True)).squeeze(2)
    return torch.stack([values.sum(dim=0) for values in (f1.mean(dim=2), least, energy.mean(dim=2))]).cpu()


@torch.no_grad()
def _known(model, features, gold, empty_f1) -> torch.Tensor:
    """Sums over rows: the task-net's F1, the energy of what it predicts, and that of gold."""
    state = model.task_state(features)
    # Compared as probabilities, as predictions and the points of a descent are.
    predicted = state.logits.sigmoid() >= 0.5
    outputs = torch.stack([predicted.to(state.logits), gold.to(state.logits)], dim=1)
    energy = model.loss_net(model.frozen_features(state), outputs).double().sum(dim=0)
    f1 = example_f1(predicted, gold.bool(), empty_f1).double().sum()
    return torch.cat([f1.view(1), energy]).cpu()


def draw(table: pandas.DataFrame, lines: dict[str, float], path: Path, title: str) -> None:
    """A panel of F1 and one of the energy, against the step."""
    figure, [(left, right)] = panels(1, 2, (11, 4.2))
    for place, (start, rows) in enumerate(table.groupby("start", sort=False)):
        colour, name = COLOURS[start], f"from {STARTS[start]}"
        # Descents often end in the same point: a line that lies below another one is wider, so that both are seen.
        wide = {"color": colour, "linewidth": 4 - 1.25 * place, "alpha": 0.6}
        left.plot(rows["step"], rows["f1"], label=name, **wide)
        if not rows["f1"].equals(rows["f1_least_energy"]):
            named = f"{name}, restart of least energy"
            left.plot(rows["step"], rows["f1_least_energy"], ":", color=colour, label=named, zorder=3)
        right.plot(rows["step"], rows["energy"], **wide)
    left.axhline(lines["task_net_f1"], color="black", linestyle="--", linewidth=1, label="the task-net alone")
    right.axhline(lines["task_net_energy"], color="black", linestyle="--", linewidth=1)
    gold = right.axhline(lines["gold_energy"], color="#777777", linestyle="-.", linewidth=1)
    left.set_ylabel("example F1 at 0.5 (percent)")
    right.set_ylabel("energy, mean over rows")
    right.set_title(_cut(right, table, lines), fontsize=8)
    for panel in (left, right):
        panel.set_xlabel("step of the descent")
        hide_box(panel)
    handles, names = left.get_legend_handles_labels()
    where = {"loc": "outside lower center", "ncols": 3, "frameon": False, "fontsize": 8}
    figure.legend([*handles, gold], [*names, "gold (its energy)"], **where)
    figure.suptitle(title, fontsize=10)
    save(figure, path)


def _cut(panel: Any, table: pandas.DataFrame, lines: dict[str, float]) -> str:
    """
    Limits the axis if the energies of random points, high at first, would squeeze the others together; returns a
    sentence that says so, else an empty one.
    """
    others = table.loc[table["start"] != "random", "energy"].tolist()
    others += [lines["task_net_energy"], lines["gold_energy"]]
    low, high = min(*others, table["energy"].min()), max(others)
    if table["energy"].max() <= high + 2 * (high - low):
        return ""
    top = high + 0.5 * (high - low)
    panel.set_ylim(low - 0.1 * (high - low), top)
    above = (table.loc[table["start"] == "random", "energy"] > top).tolist()
    which = "all" if all(above) else "the first" if above == sorted(above, reverse=True) else "some"
    return f"{which} steps from random points are above the axis"
