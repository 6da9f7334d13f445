"""The figures of benchmarks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas
from matplotlib.figure import Figure

from scripts.measure.drawing import hide_box, panels, save


def draw_benchmark(table: pandas.DataFrame, path: Path, title: str) -> None:
    """A panel a case and metric: the ratio to the baseline of each method. No figure where nothing has a ratio."""
    groups = [(key, rows) for key, rows in table.groupby(["case", "metric"], sort=False) if rows["ratio"].notna().any()]
    if not groups:
        path.unlink(missing_ok=True)  # A figure of an earlier table would be wrong here.
        return
    columns = min(3, len(groups))
    lines = -(-len(groups) // columns)
    # A line of panels is as high as its panel with the most bars needs.
    bars_of = [len(rows["method"].unique()) for _, rows in groups]
    heights = [max(2.9, 0.9 + 0.24 * max(bars_of[line * columns : (line + 1) * columns])) for line in range(lines)]
    figure, axes = panels(lines, columns, (5 * columns, sum(heights)), height_ratios=heights)
    for panel in axes.flat[len(groups) :]:
        panel.axis("off")
    for panel, ((case, metric), rows) in zip(axes.flat, groups):
        bars = panel.barh(rows["method"], rows["ratio"], color="#2f5d8a")
        panel.bar_label(bars, labels=[f"{ratio:.3g}" for ratio in rows["ratio"]], padding=3, fontsize=8)
        panel.invert_yaxis()
        panel.margins(x=0.15)
        panel.set_title(f"{case}: {metric}", fontsize=9)
        panel.set_xlabel("ratio to the baseline", fontsize=8)
        hide_box(panel)
    _save(figure, path, title)


def draw_growth(table: pandas.DataFrame, path: Path, title: str, growths: Mapping[str, Any]) -> None:
    """A panel a case: the seconds of a step by its size, and a line of the power in its formula."""
    timed = table[table["metric"].isin(("cpu_seconds", "seconds"))]
    groups = list(timed.groupby("case", sort=False))
    columns = min(4, len(groups))
    lines = -(-len(groups) // columns)
    figure, axes = panels(lines, columns, (3.6 * columns, 3.2 * lines))
    for panel in axes.flat[len(groups) :]:
        panel.axis("off")
    for panel, (case, rows) in zip(axes.flat, groups):
        growth = growths[case]
        sizes, seconds = rows["method"].astype(int).tolist(), rows["value"].tolist()
        panel.loglog(sizes, seconds, "o-", color="#2f5d8a", label="measured")
        ends = sizes[0], sizes[-1]
        line = [seconds[-1] * (size / sizes[-1]) ** growth.power for size in ends]
        panel.loglog(ends, line, "--", color="#999999", label=growth.term)
        panel.set_ylim(bottom=min(seconds) / 2)
        panel.set_xticks(sizes, sizes)
        panel.minorticks_off()
        _finish_curves(panel, case, "seconds of a step")
    _save(figure, path, title)


def draw_processes(table: pandas.DataFrame, path: Path, title: str) -> None:
    """A panel a case: the examples a second by the number of processes, and a line of as many times those of one."""
    speeds = table[table["metric"] == "examples_per_second"]
    groups = list(speeds.groupby("case", sort=False))
    figure, axes = panels(1, len(groups), (3.6 * len(groups), 3.4))
    for panel, (case, rows) in zip(axes.flat, groups):
        found = rows.set_index("method")["value"]
        for suffix, style, label in (
            ("", "o-", "measured"),
            ("_at_the_end", "v:", "gradients sent at the end"),
            ("_in_parts", "^:", "optimizer states in parts"),
            ("_nodes", "s", "on two nodes"),
        ):
            sizes = [size for size in (1, 2, 4) if f"{size}{suffix}" in found]
            if sizes:
                speed = [found[f"{size}{suffix}"] for size in sizes]
                panel.plot(sizes, speed, style, label=label, markersize=5, fillstyle="none" if suffix else "full")
        panel.plot([1, 4], [found["1"], 4 * found["1"]], "--", color="#999999", label="as many times one process")
        panel.set_xticks([1, 2, 4])
        panel.set_ylim(bottom=0)
        panel.set_xlabel("processes", fontsize=8)
        _finish_curves(panel, case, "examples a second")
    _save(figure, path, title)


def _finish_curves(panel: Any, title: str, what: str) -> None:
    panel.set_title(title, fontsize=9)
    panel.set_ylabel(what, fontsize=8)
    panel.tick_params(labelsize=8)
    panel.legend(fontsize=7, frameon=False, loc="upper left")
    hide_box(panel)


def _save(figure: Figure, path: Path, title: str) -> None:
    figure.suptitle(title, fontsize=9)
    save(figure, path)
