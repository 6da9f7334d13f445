"""The figure of a family of suites: gains over the baseline by data set."""

from pathlib import Path

import pandas
from matplotlib.lines import Line2D

from scripts.measure.cells import gains, present_methods
from scripts.measure.drawing import hide_box, panels, save
from scripts.measure.family_tables import present_suites, rows_of
from scripts.measure.suite import Family, Suite

COLOURS = ["#777777", "#c1121f", "#d95f02", "#1b9e77", "#2f5d8a", "#b0529a", "#a6761d"]
MARKERS = "osD^vPX*<>hp"
LINEAR = 5.0
"""The axis is linear for gains up to this many points, of either sign, and logarithmic beyond."""
LEAST = 0.1
"""The axis reaches at least this many points in either direction."""


def draw_family(family: Family, suites: dict[str, Suite], table: pandas.DataFrame, path: Path, label: str = "") -> None:
    """
    Draws a panel for each metric of the family. It has, for each data set, a point for each method: the mean over seeds
    of its gain over the baseline with the same seed, and the deviation. The scores are those on test if there are any.
    Draws nothing if nothing can be compared.
    """
    present = present_suites(family, suites, table)
    if not present:
        return
    some = next(iter(present.values()))
    ours = rows_of(present, table)
    split = "test" if "test" in set(ours["split"]) else some.validation
    ours = ours[ours["split"] == split]
    methods = [name for name in present_methods(some, ours) if name != some.baseline]
    sets = [dataset for dataset, suite in present.items() if (ours["suite"] == suite.name).any()]
    if not methods or some.baseline not in set(ours["method"]):
        return
    headline = {metric: heading for metric, heading in family.headline.items() if metric in set(ours["metric"])}
    # Room for every point of a data set, whatever their number.
    width = max(7.0, 3.2 + len(sets) * max(1.2, 0.13 * len(methods)))
    height = max(4.2 * len(headline), 0.23 * (len(methods) + 6))
    figure, axes = panels(len(headline), 1, (width, height), sharex=True)
    notes: list[str] = []
    for panel, (metric, heading) in zip(axes[:, 0], headline.items()):
        notes += _points(panel, some, methods, sets, ours[ours["metric"] == metric])
        panel.set_title(f"{split}: {heading}", fontsize=10)
        panel.set_ylabel(f"gain over {some.methods[some.baseline].title}", fontsize=9)
    axes[-1, 0].set_xticks(range(len(sets)), sets)
    handles, names = _legend(some, methods)
    figure.legend(handles, names, loc="outside right upper", frameon=False, fontsize=8)
    figure.supxlabel("; ".join(dict.fromkeys(notes)), fontsize=8)
    if label:
        figure.suptitle(label)
    save(figure, path)


def _points(panel, suite: Suite, methods: list[str], sets: list[str], table: pandas.DataFrame) -> list[str]:
    """Draws the gains in one metric; returns the notes that explain them."""
    styles = _styles(suite, methods)
    step = 0.84 / max(1, len(methods))
    largest = 0.0
    seeds: set[bool] = set()
    for place, dataset in enumerate(sets):
        rows = table[table["dataset"] == dataset]
        if place % 2:
            panel.axvspan(place - 0.5, place + 0.5, color="#f2f2f2", zorder=0)
        for index, method in enumerate(methods):
            found = gains(rows, suite.baseline, method)
            if found.empty:
                continue
            x = place + (index - (len(methods) - 1) / 2) * step
            colour, marker = styles[method]
            deviation = found.std(ddof=1) if len(found) > 1 else None
            seeds.add(len(found) > 1)
            style = dict(color=colour, marker=marker, markersize=5, capsize=2, linewidth=1, linestyle="none")
            panel.errorbar(x, found.mean(), deviation, **style)
            largest = max(largest, abs(found.mean()) + (deviation or 0.0))
    panel.axhline(0, color="black", linewidth=0.8)
    # Energy-only models may lie tens of points below the baseline, while the others differ by a point.
    if largest > 2 * LINEAR:
        panel.set_yscale("symlog", linthresh=LINEAR, linscale=1.5)
        ticks = [value for value in (1, 2, 3, 4, 5, 10, 20, 50) if value <= 1.6 * largest]
        panel.set_yticks([-value for value in reversed(ticks)] + [0] + ticks)
        panel.set_yticklabels([f"{value:+d}" if value else "0" for value in map(int, panel.get_yticks())])
        panel.minorticks_off()
    elif largest < LEAST:
        panel.set_ylim(-LEAST, LEAST)
    panel.set_xlim(-0.5, len(sets) - 0.5)
    panel.margins(y=0.08)
    panel.grid(axis="y", linewidth=0.4, alpha=0.6)
    hide_box(panel)
    said = {
        "bars: the sample deviation, over seeds, of gains with the same seed": True in seeds,
        "no bar: one seed": False in seeds,
        f"the axis is logarithmic beyond ±{LINEAR:g}": panel.get_yscale() == "symlog",
    }
    return [note for note, applies in said.items() if applies]


def _styles(suite: Suite, methods: list[str]) -> dict[str, tuple]:
    """Colour and marker of each method: a colour for each group, in it a marker for each method of the suite."""
    groups = list(dict.fromkeys(method.group for method in suite.methods.values()))
    styles = {}
    for name in methods:
        group = suite.methods[name].group
        members = [other for other, method in suite.methods.items() if method.group == group]
        colour = COLOURS[groups.index(group) % len(COLOURS)]
        styles[name] = (colour, MARKERS[members.index(name) % len(MARKERS)])
    return styles


def _legend(suite: Suite, methods: list[str]) -> tuple:
    """The methods below the names of their groups."""
    handles, names, group = [], [], None
    empty = Line2D([], [], linestyle="none")
    for name, (colour, marker) in _styles(suite, methods).items():
        if suite.methods[name].group != group:
            group = suite.methods[name].group
            handles.append(empty)
            names.append(group.replace(", ", ",\n"))
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=5, linestyle="none"))
        names.append(suite.methods[name].title)
    return handles, names
