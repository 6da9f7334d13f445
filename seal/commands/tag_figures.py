"""
Figures of tags. matplotlib is imported when one is drawn: it takes its time.
"""

from typing import Dict, List, Sequence, Tuple

import numpy

from seal.commands.label_figures import BLUE, draw_matrices, figure, verbatim


def draw_neighbours(tables: Dict[str, numpy.ndarray], names: List[str], path: str, caption: str) -> None:
    """Of pairs of tags that follow each other: `draw_matrices`, all but the largest numbers within the scale."""
    draw_matrices(tables, names, path, ("tag at t", "tag at t + 1"), caption, share=0.995)


def draw_confusions(rows: Sequence[Tuple[str, str, int]], title: str, path: str) -> None:
    """Bars of how often the task-net's tag, which is right, became another in the cost-augmented network."""
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
        # Without bars, what the axes count has no meaning; the title says that there are none.
        panel.set_axis_off()
    drawing.savefig(path, dpi=150)
