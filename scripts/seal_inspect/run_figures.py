"""Figures of runs: curves over epochs, calibration, and masks."""

import fnmatch
import io
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from seal.files.runs import Run
from seal_inspect.figures import figure, grid, verbatim
from seal_inspect.findings import Findings, Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, which colour-blind readers tell apart, in an order in which neighbours differ in lightness.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#000000")
_DASHES = ("-", "--", ":", "-.")
#: The transparency of lines.
_LEGEND: dict[str, Any] = {"fontsize": 8, "framealpha": 0.6, "edgecolor": "none"}


class Panel(NamedTuple):
    """
    A panel of the figure: its title, the names or patterns of its metrics, and whether its axis is logarithmic. A
    metric is drawn in the first panel that matches it.
    """

    title: str
    metrics: tuple[str, ...]
    logarithmic: bool = False


_PANELS = (
    Panel(
        "Loss of the task-net",
        ("training_task_net_loss", "training_*cross_entropy", "training_task_net_ranking", "validation_loss"),
    ),
    Panel("Loss of the loss-net", ("training_loss_net_loss", "validation_loss_net_*")),
    Panel("Energy in training (low is good)", ("training_energy_*",)),
    Panel("Energy's and gold's gradient: cosine", ("validation_energy_alignment",)),
    Panel("Gold ranked above candidates, %", ("validation_ranking_accuracy",)),
    Panel("Energy on validation data (low is good)", ("validation_energy_*",)),
    Panel("Gradient norm", ("training_grad_norm_*",), True),
    Panel("Implicit gradient: norms", ("training_*plicit_norm", "training_inner_gradient_norm"), True),
    Panel("Implicit gradient: solver's residual", ("training_solver_residual",), True),
    Panel("Implicit gradient: solver's steps", ("training_solver_steps",)),
    Panel("Implicit gradient: curvature", ("training_*_curvature",)),
    Panel("Reward", ("training_reward_*",)),
)


def curves(runs: list[Run]) -> "Figure":
    """
    A figure of the metrics of runs over epochs, with the panels for which the runs have values. For one run, each
    metric has a colour; for several, each run has a colour and each metric a dash. The first panel has the metric that
    chooses the first run's best epoch, which a dot marks.
    """
    from matplotlib.ticker import LogFormatter, MaxNLocator

    drawn = _drawn(runs)
    # The width of the page, so that text keeps its size.
    drawing, axes = grid(len(drawn), 10.0 / 3, 2.7)
    several = len(runs) > 1
    for axis, (panel, metrics) in zip(axes, drawn.items()):
        for kind, metric in enumerate(metrics):
            for number, run in enumerate(runs):
                epochs, values = run.series(metric)
                style = _style(number, kind) if several else _style(kind, 0)
                # A line of a single epoch would be invisible.
                axis.plot(epochs, values, marker="." if len(epochs) == 1 else "", **style)
                if axis is axes[0] and run.best_epoch + 1 in epochs:
                    best = epochs.index(run.best_epoch + 1)
                    axis.plot(epochs[best], values[best], "o", color=style["color"])
        axis.set_title(verbatim(panel.title), fontsize=10)
        axis.set_xlabel("epoch", fontsize=8)
        axis.tick_params(labelsize=8, which="both")
        axis.grid(alpha=0.25)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        if panel.logarithmic:
            axis.set_yscale("log")
            # 20 in the place of 2 x 10^1, which takes the room of the panel to the left.
            axis.yaxis.set_major_formatter(LogFormatter())
            axis.yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False, minor_thresholds=(1, 0.4)))
        if len(metrics) > 1:
            kinds = range(len(metrics))
            styles = [_style(0, kind) | {"color": "#555555"} if several else _style(kind, 0) for kind in kinds]
            data = os.path.commonprefix(metrics).partition("_")[0]
            names = [verbatim(name.removeprefix("training_").removeprefix(f"{data}_")) for name in metrics]
            axis.legend([_line(style) for style in styles], names, **_LEGEND)
    for axis in axes[len(drawn) :]:
        axis.set_axis_off()
    if several:
        lines, names = [_line(_style(number, 0)) for number in range(len(runs))], [verbatim(run.name) for run in runs]
        drawing.legend(lines, names, loc="outside upper center", ncols=min(4, len(runs)), fontsize=9, frameon=False)
    return drawing


def _style(colour: int, dash: int) -> dict[str, Any]:
    return {"color": COLOURS[colour % len(COLOURS)], "linestyle": _DASHES[dash % len(_DASHES)], "linewidth": 1.4}


def _line(style: dict[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **style)


def _drawn(runs: list[Run]) -> dict[Panel, list[str]]:
    """The panels for which the runs have values, with their metrics."""
    chosen_by = runs[0].validation_metric
    of_whom = ", the task-net alone" if any(run.has_own_scores for run in runs) else ""
    left = dict.fromkeys(name for run in runs for epoch in run.epochs for name in epoch if run.series(name)[0])
    found: dict[Panel, list[str]] = {}
    for panel in (Panel(f"{chosen_by} on validation data{of_whom}", (f"validation_{chosen_by}",)), *_PANELS):
        metrics = [name for pattern in panel.metrics for name in fnmatch.filter(left, pattern)]
        if metrics:
            found[panel] = list(dict.fromkeys(metrics))
            left = {name: None for name in left if name not in found[panel]}
    return found


def trust(found: dict[str, Findings]) -> "Figure":
    """
    A figure of the calibration of models, by the names of runs: the share of right decisions over their probability,
    and for label sets the mean F1 over the threshold.
    """
    with_thresholds = any(findings.f1_at for findings in found.values())
    drawing, axes = figure(2 if with_thresholds else 1, 4.4, 3.4)
    axes[0].plot([0, 1], [0, 1], color="#999999", linewidth=1)
    for number, (name, findings) in enumerate(found.items()):
        style = _style(number, 0)
        bins, error = findings.calibration()
        label = f"{verbatim(name)}, error {error:.3f}"
        axes[0].plot([one[0] for one in bins], [one[1] for one in bins], marker=".", label=label, **style)
        if findings.f1_at:
            axes[1].plot(list(findings.f1_at), list(findings.f1_at.values()), label=verbatim(name), **style)
    axes[0].set(title="Calibration", xlabel="probability", ylabel="share that is right")
    if with_thresholds:
        axes[1].set(title="Threshold", xlabel="least probability of a predicted label", ylabel="F1, mean of rows, %")
    for axis in axes:
        axis.grid(alpha=0.25)
        axis.legend(**_LEGEND)
    return drawing


def masks(pictures: list[Picture]) -> "Figure":
    """A figure of images with the outlines of gold (white) and of the prediction (orange)."""
    from matplotlib.patheffects import withStroke

    drawing, axes = grid(len(pictures), 2.8, 3.3)
    # Both are seen on a background of any colour.
    rim = [withStroke(linewidth=3.5, foreground="black")]
    for axis, picture in zip(axes, pictures):
        axis.imshow(picture.image, interpolation="nearest")
        for mask, colour in ((picture.gold, "white"), (picture.predicted, COLOURS[1])):
            if mask.any() and not mask.all():
                axis.contour(mask, levels=[0.5], colors=colour, linewidths=1.8).set(path_effects=rim)
        lines = [verbatim(picture.source.rpartition("/")[2]), f"IoU {picture.iou:.0f}"]
        if picture.energy_of_gold is not None and picture.energy_of_predicted is not None:
            lines.append(f"energy {picture.energy_of_predicted:.4g}, gold's {picture.energy_of_gold:.4g}")
        axis.set_title("\n".join(lines), fontsize=9)
    for axis in axes:
        axis.set_axis_off()
    return drawing


def as_svg(drawing: "Figure", name: str) -> str:
    """
    Converts a figure to an SVG element; the same figure gives the same text. Its ids begin with `name`, so that a page
    can contain several figures.
    """
    import matplotlib

    file = io.StringIO()
    # Text stays text, which can be searched and read aloud.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        drawing.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text[text.index("<svg") :])
