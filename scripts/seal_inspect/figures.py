"""Drawing functions for several sub-commands. They import matplotlib themselves, because its import is slow."""

from typing import TYPE_CHECKING, Optional

import numpy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, PALE = "#2f5d8a", "#9db8d2"


def figure(columns: int, width: float, height: float) -> tuple["Figure", numpy.ndarray]:
    """A figure without a window, and the array of its panels, which form a row."""
    from matplotlib.figure import Figure

    result = Figure(figsize=(width * columns, height), layout="constrained")
    return result, numpy.atleast_1d(result.subplots(1, columns))


def grid(number: int, width: float, height: float) -> tuple["Figure", numpy.ndarray]:
    """A figure without a window, and the array of its panels, which form rows of three. The last ones may be empty."""
    from matplotlib.figure import Figure

    columns = min(3, number)
    rows = -(-number // columns)
    result = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return result, result.subplots(rows, columns, squeeze=False).ravel()


def verbatim(name: str) -> str:
    """Escapes a name for a figure: matplotlib reads text between two `$` as TeX."""
    return name.replace("$", r"\$")


def draw_matrices(
    matrices: dict[str, numpy.ndarray],
    names: list[str],
    path: str,
    axes: tuple[str, str] = ("", ""),
    caption: Optional[str] = None,
    share: float = 1.0,
) -> None:
    """
    Draws heat maps in a row, each with its own scale, white at 0 and grey at NaN.

    # Parameters

    matrices : `dict[str, numpy.ndarray]`
        Matrices `(names, names)` by title.
    axes : `tuple[str, str]`
        The labels of rows and columns.
    share : `float`
        The quantile of the absolute values that gets the strongest colour. With 1, a few extreme values would leave all
        others white.
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
