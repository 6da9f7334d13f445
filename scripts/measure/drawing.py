"""Helpers for the figures of measurements: panels without a screen, and files that are written as a whole."""

from pathlib import Path
from typing import Any

import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scripts.measure.files import atomic_write


def panels(rows: int, columns: int, size: tuple[float, float], **more: Any) -> tuple[Figure, numpy.ndarray]:
    """A figure of `size`, in inches, and its panels, `(rows, columns)`."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **more)


def hide_box(panel: Axes) -> None:
    """Leaves the two axes alone."""
    panel.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path) -> None:
    with atomic_write(path) as draft:
        figure.savefig(draft, dpi=150)
