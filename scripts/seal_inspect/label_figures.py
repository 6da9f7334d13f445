"""Figures of label sets and of how labels interact."""

import numpy

from seal_inspect.figures import BLUE, PALE, figure, verbatim
from seal_inspect.label_statistics import LabelSets


def draw_label_sets(sets: LabelSets, path: str) -> None:
    """Draws the numbers of labels of the rows, and the numbers of rows of the labels, alone and with other labels."""
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


def draw_surfaces(surfaces: dict[str, numpy.ndarray], axes: dict[str, list[str]], path: str) -> None:
    """
    Draws gradients over the two outputs of a pair of labels. All except the first, which are of an energy, share one
    scale.

    # Parameters

    surfaces : `dict[str, numpy.ndarray]`
        Gradients `(steps, steps)` by title, cross-entropy's first. A row stands for a value of the first output, from 0
        to 1, and a column for a value of the second.
    axes : `dict[str, list[str]]`
        The names of the two outputs by title.
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
