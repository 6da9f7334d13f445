"""The figures of benchmarks."""

from pathlib import Path

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


def _save(figure: Figure, path: Path, title: str) -> None:
    figure.suptitle(title, fontsize=9)
    save(figure, path)
