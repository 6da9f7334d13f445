"""Values over the epochs of groups of runs (Tu, Pang & Gimpel 2020, Figures 2 and 3)."""

import json
import math
import re
from pathlib import Path

import pandas

from scripts.measure.drawing import hide_box, panels, save
from scripts.measure.files import read_json
from scripts.measure.suite import UserError

# What trainer callbacks trace.
TRACES = ("inference_networks.csv", "inference.csv")
# The columns of a trace that say when a row was taken.
_PLACES = ("epoch", "batches")
MEAN = "mean"
COLUMNS = ["value", "group", "run", "axis", "at", "number"]
COLOURS = ["#d95f02", "#2f5d8a", "#1b9e77", "#b0529a", "#a6761d", "#777777"]
TITLES = {
    "l1": r"$l_1 = \Delta(F^c, y) - E(x, F^c)$",
    "l0": r"$l_0 = [\Delta(F^c, y) - E(x, F^c) + E(x, y)]_+$",
    "energy_gradient_norm": r"$\|\partial L / \partial \Theta\|$",
    "network_gradient_norm": r"$\|\partial E(x, A(x)) / \partial \Psi\|$",
}


def collect(groups: dict[str, list[Path]], own: dict[str, str], values: list[str]) -> pandas.DataFrame:
    """
    A table of the columns `value`, `group`, `run` (its folder, or `"mean"`), `axis` (`"epoch"`, from 1, or
    `"batches"`), `at` (a place on it) and `number`. A group of one run has no mean.

    `groups` has the folders of each group's runs; `own` a value of a group's own, which it has in the place of each of
    `values`. Raises `UserError` where a run is not there, not finished, or has no such value.
    """
    runs = {folder: _Run(folder) for folders in groups.values() for folder in folders}
    parts = []
    for value in values:
        found = {
            group: {str(folder): runs[folder].values(own.get(group, value)) for folder in folders}
            for group, folders in groups.items()
        }
        # All runs have the same axis, so that one panel can show them.
        unique = all(rows["epoch"].is_unique for rows_of in found.values() for rows in rows_of.values())
        axis = "epoch" if unique else "batches"
        for group, rows_of in found.items():
            lines = {folder: rows.set_index(axis)["number"] for folder, rows in rows_of.items()}
            if len(lines) > 1:
                # The mean ends with the shortest run: where a run stops, the mean of the others would jump.
                lines[MEAN] = pandas.concat(lines.values(), axis=1, join="inner").mean(axis=1)
            for run, line in lines.items():
                rows = {"value": value, "group": group, "run": run, "axis": axis, "at": line.index, "number": line}
                parts.append(pandas.DataFrame(rows))
    return pandas.concat(parts, ignore_index=True)[COLUMNS]


class _Run:
    """What a finished run left of each epoch."""

    def __init__(self, folder: Path) -> None:
        # `scripts/reproduce.py` keeps what `allennlp train` writes in a folder of its own.
        self._folder = folder / "model" if (folder / "model").is_dir() else folder
        if not self._folder.is_dir():
            raise UserError(f"there is no run {folder}.")
        if not (self._folder / "metrics.json").is_file():
            raise UserError(f"{folder} is no finished run: there is no {self._folder / 'metrics.json'}.")
        self._epochs = self._metrics()
        paths = [self._folder / name for name in TRACES]
        self._traces = [pandas.read_csv(path) for path in paths if path.is_file()]

    def _metrics(self) -> dict[int, dict[str, float]]:
        """By epoch, from 0."""
        paths: list[tuple[int, Path]] = []
        for path in self._folder.glob("metrics_epoch_*.json"):
            number = re.fullmatch(r"metrics_epoch_(\d+)", path.stem)
            if number is not None:
                paths.append((int(number[1]), path))
        try:
            return {epoch: read_json(path) for epoch, path in sorted(paths)}
        except json.JSONDecodeError as error:
            raise UserError(f"{self._folder} holds metrics that are not JSON: {error}.") from None

    def values(self, name: str) -> pandas.DataFrame:
        """`number` by `epoch`, from 1, and, of a trace, `batches`."""
        for trace in self._traces:
            if name in _columns(trace):
                rows = trace[[*_PLACES, name]].rename(columns={name: "number"})
                return rows.assign(epoch=rows["epoch"].astype(int) + 1, batches=rows["batches"].astype(int))
        numbers = {epoch + 1: metrics.get(name) for epoch, metrics in self._epochs.items()}
        found = [(epoch, number) for epoch, number in numbers.items() if _is_number(number)]
        if not found:
            known = {key for metrics in self._epochs.values() for key, value in metrics.items() if _is_number(value)}
            known.update(*(_columns(trace) for trace in self._traces))
            hint = "" if self._traces else f" and no {' or '.join(TRACES)}"
            raise UserError(
                f"--values: {self._folder} has no '{name}'{hint}; it has {', '.join(sorted(known)) or 'no values'}."
            )
        return pandas.DataFrame(found, columns=["epoch", "number"])


def _columns(trace: pandas.DataFrame) -> list[str]:
    return [name for name in trace.columns if name not in _PLACES]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def draw(table: pandas.DataFrame, path: Path, title: str = "") -> None:
    """A panel a value, a colour a group."""
    values, groups = list(table["value"].unique()), list(table["group"].unique())
    columns = min(2, len(values))
    lines = -(-len(values) // columns)
    figure, axes = panels(lines, columns, (5.2 * columns + 0.6, 3.6 * lines))
    for panel in axes.flat[len(values) :]:
        panel.axis("off")
    for panel, value in zip(axes.flat, values):
        rows = table[table["value"] == value]
        for index, group in enumerate(groups):
            ours = rows[rows["group"] == group]
            alone = ours["run"].nunique() == 1
            for run, line in ours.groupby("run", sort=False):
                thick = alone or run == MEAN
                panel.plot(
                    line["at"],
                    line["number"],
                    color=COLOURS[index % len(COLOURS)],
                    linestyle=("-", "--", ":")[index // len(COLOURS) % 3],
                    # Where lines coincide, those below are wider, so that all are seen.
                    linewidth=1.5 + 2.4 * (len(groups) - 1 - index) / max(len(groups) - 1, 3) if thick else 0.7,
                    alpha=1 if thick else 0.6,
                    # A run of one epoch is a point.
                    marker="o" if len(line) == 1 else None,
                    label=group if thick else None,
                )
        panel.set_title(TITLES.get(value, value.replace("_", " ")), fontsize=10)
        panel.set_xlabel(rows["axis"].iloc[0])
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(linewidth=0.4, alpha=0.6)
        hide_box(panel)
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    if title:
        figure.suptitle(title)
    save(figure, path)


def summary(table: pandas.DataFrame) -> str:
    """First, last, least and greatest number of each group's mean, or of its one run."""
    lines = []
    for (value, group), rows in table.groupby(["value", "group"], sort=False):
        runs = rows.loc[rows["run"] != MEAN, "run"].nunique()
        line = rows[rows["run"] == (MEAN if runs > 1 else rows["run"].iloc[0])].set_index("at")["number"]
        if line.empty:
            lines.append(f"{value}, {group}: its {runs} runs have nothing in common to take a mean of")
            continue
        lines.append(
            f"{value}, {group} ({runs} run{'s' * (runs > 1)}): {line.iloc[0]:.4g} at {rows['axis'].iloc[0]} "
            f"{line.index[0]}, {line.iloc[-1]:.4g} at {line.index[-1]}; least {line.min():.4g}, greatest "
            f"{line.max():.4g}"
        )
    return "\n".join(lines)
