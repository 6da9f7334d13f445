"""
Figures of label sets and of how labels interact. matplotlib is imported only when one is drawn, as that is slow.
"""

from typing import Any, Dict, List, Optional, Tuple

import numpy

from seal.commands.label_statistics import LabelSets

BLUE, PALE = "#2f5d8a", "#9db8d2"


def figure(columns: int, width: float, height: float) -> Any:
    """A figure that is not shown in a window, and the array of its panels, which stand in a row."""
    from matplotlib.figure import Figure

    result = Figure(figsize=(width * columns, height), layout="constrained")
    return result, numpy.atleast_1d(result.subplots(1, columns))


def verbatim(name: str) -> str:
    """A name escaped for a figure: matplotlib reads what stands between two `$` as TeX."""
    return name.replace("$", r"\$")


def draw_label_sets(sets: LabelSets, path: str) -> None:
    """Draws how many labels the rows have, and how many rows each label has, alone and with other labels."""
    drawing, (left, right) = figure(2, 5.2, 3.6)
    left.bar(range(len(sets.sizes)), sets.sizes, color=BLUE)
    left.set(xlabel="labels of a row", ylabel="rows", title=f"{sets.summary['different_sets']} different sets")
    order = numpy.argsort(-sets.counts, kind="stable")
    place = numpy.arange(len(order))
    with_others = (sets.counts - sets.alone)[order]
    right.bar(place, with_others, width=1, color=PALE, label="with others")
    right.bar(place, sets.alone[order], width=1, bottom=with_others, color=BLUE, label="alone")
    right.set(xlabel="label, by its rows", ylabel="rows", title=f"{sets.summary['labels']} labels")
    right.legend(frameon=False, fontsize=8)
    for panel in (left, right):
        panel.spines[["top", "right"]].set_visible(False)
    drawing.savefig(path, dpi=150)


def draw_matrices(
    matrices: Dict[str, numpy.ndarray],
    names: List[str],
    path: str,
    axes: Tuple[str, str] = ("", ""),
    caption: Optional[str] = None,
    share: float = 1.0,
) -> None:
    """
    Draws heat maps in a row, each with its own scale, white at 0 and grey at NaN.

    # Parameters

    matrices : `Dict[str, numpy.ndarray]`
        By title; each `(names, names)`.
    axes : `Tuple[str, str]`
        What rows and columns stand for.
    share : `float`
        The share of the values, by magnitude, that the colour scale covers: a few values far beyond all others would
        leave these white.
    """
    size = max(4.2, 0.2 * len(names) + 1.4)
    rotation = 90 if max(map(len, names)) > 2 else 0
    drawing, panels = figure(len(matrices), size, size)
    for panel, (title, matrix) in zip(panels, matrices.items()):
        found = numpy.abs(matrix[numpy.isfinite(matrix)])
        limit = (numpy.quantile(found, share) or found.max()) if found.size else 0.0
        limit = limit or 1.0
        panel.set_facecolor("#dddddd")
        image = panel.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
        panel.set_title(title, fontsize=9)
        panel.set_xticks(range(len(names)), map(verbatim, names), rotation=rotation, fontsize=7)
        panel.set_yticks(range(len(names)), map(verbatim, names), fontsize=7)
        panel.set(ylabel=axes[0], xlabel=axes[1])
        beyond = "both" if found.size and found.max() > limit else "neither"
        drawing.colorbar(image, ax=panel, shrink=0.75, extend=beyond)
    if caption is not None:
        drawing.suptitle(caption, fontsize=9)
    drawing.savefig(path, dpi=150)


def draw_surfaces(surfaces: Dict[str, numpy.ndarray], axes: Dict[str, List[str]], path: str) -> None:
    """
    Draws gradients over the two outputs of a pair of labels. Those of an energy, all but the first, share one scale.

    # Parameters

    surfaces : `Dict[str, numpy.ndarray]`
        By title, that of cross-entropy first: `(steps, steps)`, with a row for each value of the first output, from 0
        to 1, and a column for each value of the second.
    axes : `Dict[str, List[str]]`
        By title: the names of the two outputs.
    """
    drawing, panels = figure(len(surfaces), 4.4, 3.9)
    energies = list(surfaces.values())[1:]
    scale = dict(vmin=min(map(numpy.min, energies)), vmax=max(map(numpy.max, energies)))
    for panel, (title, surface) in zip(panels, surfaces.items()):
        image = panel.imshow(surface.T, origin="lower", extent=(0, 1, 0, 1), cmap="viridis", aspect="equal")
        if panel is not panels[0]:
            image.set_clim(**scale)
        contours = panel.contour(surface.T, 6, extent=(0, 1, 0, 1), colors="white", linewidths=0.7)
        panel.clabel(contours, fontsize=6)
        first, second = map(verbatim, axes[title])
        panel.set(xlabel=f"$y_i$: {first}", ylabel=f"$y_k$: {second}")
        panel.set_title(title, fontsize=9)
        drawing.colorbar(image, ax=panel, shrink=0.8)
    drawing.savefig(path, dpi=150)
