"""
Figures of tags.
"""

from collections.abc import Sequence

import numpy

from seal_inspect.figures import BLUE, draw_matrices, figure, verbatim


def draw_neighbours(tables: dict[str, numpy.ndarray], names: list[str], path: str, caption: str) -> None:
    """Draws tables of neighbouring tags by `draw_matrices`; the colour scale covers all but the largest 0.5 %."""
    draw_matrices(tables, names, path, ("tag at t", "tag at t + 1"), caption, share=0.995)


def draw_confusions(rows: Sequence[tuple[str, str, int]], title: str, path: str) -> None:
    """Draws bars: how often a correct tag of the task-net became another one in the cost-augmented network."""
    drawing, (panel,) = figure(1, 6.4, max(2.2, 0.24 * len(rows) + 1.2))
    names = [verbatim(f"{right} → {wrong}") for right, wrong, _ in rows]
    bars = panel.barh(names, [row[2] for row in rows], color=BLUE)
    panel.bar_label(bars, padding=3, fontsize=8)
    panel.invert_yaxis()
    panel.margins(x=0.1)
    panel.tick_params(axis="y", labelsize=8)
    panel.set_xlabel("words")
    panel.set_title(verbatim(title), fontsize=9)
    panel.spines[["top", "right"]].set_visible(False)
    if not rows:
        # Without bars the axes have no meaning; the title says that there are none.
        panel.set_axis_off()
    drawing.savefig(path, dpi=150)
