"""
Figures of tags. matplotlib is imported when one is drawn: it takes its time.
"""

from typing import Dict, List, Sequence, Tuple

import numpy

from seal.commands.label_figures import BLUE, figure, verbatim


def draw_neighbours(tables: Dict[str, numpy.ndarray], names: List[str], path: str, caption: str) -> None:
    """
    Heat maps side by side, their rows the earlier tag; each has its own scale, white is 0, and what is NaN is grey.

    # Parameters

    tables : `Dict[str, numpy.ndarray]`
        By title; each `(tags, tags)`.
    """
    size = max(4.2, 0.2 * len(names) + 1.4)
    drawing, panels = figure(len(tables), size, size)
    for panel, (title, table) in zip(panels, tables.items()):
        # A few pairs may be far beyond all others, and would leave these white.
        found = numpy.abs(table[numpy.isfinite(table)])
        limit = (numpy.quantile(found, 0.995) or found.max()) if found.size else 0.0
        limit = limit or 1.0
        panel.set_facecolor("#dddddd")
        image = panel.imshow(table, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        panel.set_title(title, fontsize=9)
        rotation = 90 if max(map(len, names)) > 2 else 0
        panel.set_xticks(range(len(names)), map(verbatim, names), fontsize=7, rotation=rotation)
        panel.set_yticks(range(len(names)), map(verbatim, names), fontsize=7)
        panel.set(xlabel="tag at t + 1", ylabel="tag at t")
        beyond = "both" if found.size and found.max() > limit else "neither"
        drawing.colorbar(image, ax=panel, shrink=0.75, extend=beyond)
    drawing.suptitle(caption, fontsize=9)
    drawing.savefig(path, dpi=150)


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
