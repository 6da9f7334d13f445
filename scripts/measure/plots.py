"""Figures of results."""

from pathlib import Path

import numpy
import pandas
from matplotlib.patches import Rectangle

from scripts.measure.cells import present_methods
from scripts.measure.drawing import hide_box, panels, save
from scripts.measure.suite import Suite

COLOURS = {"dev": "#9db8d2", "test": "#2f5d8a"}


def draw_results(suites: dict[str, Suite], table: pandas.DataFrame, path: Path, label: str = "") -> None:
    """A row a suite, a panel a tested metric: bars of the mean over seeds, deviations, and a dot a seed."""
    present = [suite for name, suite in suites.items() if (table["suite"] == name).any()]
    if not present:
        return
    columns = max(len(suite.statistics) for suite in present)
    figure, axes = panels(len(present), columns, (5.6 * columns, 3.8 * len(present)))
    for row, suite in zip(axes, present):
        ours = table[table["suite"] == suite.name]
        for panel, metric in zip(row, suite.statistics):
            _bars(panel, suite, ours, metric)
        for panel in row[len(suite.statistics) :]:
            panel.axis("off")
    # Outside of the panels, where it covers no number.
    splits = _splits(table)
    swatches = [Rectangle((0, 0), 1, 1, color=COLOURS[split]) for split in splits]
    figure.legend(swatches, splits, loc="outside right upper", frameon=False, fontsize=8)
    if label:
        figure.suptitle(label)
    save(figure, path)


def _splits(table: pandas.DataFrame) -> list[str]:
    """The methods that are drawn, in order."""
    return [split for split in COLOURS if split in set(table["split"])]


def _bars(panel, suite: Suite, table: pandas.DataFrame, metric: str) -> None:
    methods = present_methods(suite, table)
    splits = _splits(table)
    width = 0.8 / len(splits)
    lowest = numpy.inf
    for index, split in enumerate(splits):
        for place, method in enumerate(methods):
            chosen = (table["method"] == method) & (table["split"] == split) & (table["metric"] == metric)
            values = table.loc[chosen, "value"].to_numpy(float)
            if not len(values):
                continue
            x = place + (index - (len(splits) - 1) / 2) * width
            deviation = values.std(ddof=1) if len(values) > 1 else 0.0
            panel.bar(x, values.mean(), 0.92 * width, color=COLOURS[split])
            if len(values) > 1:
                panel.errorbar(x, values.mean(), deviation, color="black", capsize=3, linewidth=1)
            panel.plot([x] * len(values), values, ".", color="black", alpha=0.5, markersize=4)
            panel.annotate(
                f"{values.mean():.2f}",
                (x, max(values.max(), values.mean() + deviation)),
                textcoords="offset points",
                xytext=(0, 3),
                ha="center",
                fontsize=7,
            )
            lowest = min(lowest, values.min(), values.mean() - deviation)
    panel.margins(y=0.12)
    top = panel.get_ylim()[1]
    if metric == suite.selection and lowest > 20:
        # Scores that differ by a point look alike on an axis from 0; the axis says where it starts.
        low = max(0.0, lowest - 0.35 * (top - lowest) - 1)
        panel.set_ylim(low, top)
        panel.set_ylabel(f"{suite.metrics[metric]} (axis from {low:.0f})")
    else:
        panel.set_ylim(0, top)
        panel.set_ylabel(suite.metrics[metric])
    panel.set_xticks(range(len(methods)), [suite.methods[name].title for name in methods], rotation=20, ha="right")
    panel.set_title(f"{suite.name}: {suite.metrics[metric]}")
    hide_box(panel)
