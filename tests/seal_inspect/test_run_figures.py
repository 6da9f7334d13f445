import numpy

from seal.files.runs import Run
from seal_inspect.findings import Findings, Picture
from seal_inspect.run_figures import as_svg, curves, masks, trust


def run(name, *epochs, best=1):
    metrics = [{"epoch": number, "best_epoch": best, **epoch} for number, epoch in enumerate(epochs)]
    return Run(name, name, {"trainer": {"validation_metric": "+f1"}}, metrics, {}, [])


def epoch(n, **more):
    return {"validation_f1": 10.0 * n, "training_loss_net_loss": 1.0 / (1 + n), "training_energy_gold": -n, **more}


def titles(figure):
    return [axis.get_title() for axis in figure.axes if axis.get_title()]


def test_a_panel_for_each_kind_of_metric_that_there_is():
    more = {"training_grad_norm_task_net": 2.0}, {"training_worker_0_memory_MB": 9}
    figure = curves([run("a", epoch(0), epoch(1, **more[0]), epoch(2, **more[1]))])
    assert titles(figure) == [
        "f1 on validation data",
        "Loss of the loss-net",
        "Energy in training (low is good)",
        "Gradient norm",
    ]
    first = figure.axes[0]
    assert list(first.lines[0].get_xdata()) == [1, 2, 3] and list(first.lines[0].get_ydata()) == [0.0, 10.0, 20.0]
    # The dot of the best epoch.
    assert (list(first.lines[1].get_xdata()), list(first.lines[1].get_ydata())) == ([2], [10.0])
    assert figure.axes[3].get_yscale() == "log"


def test_shares_and_energies_have_axes_of_their_own():
    names = ("energy_alignment", "ranking_accuracy", "energy_gold", "loss_net_loss")
    figure = curves([run("a", {f"validation_{name}": float(place) for place, name in enumerate(names)})])
    drawn = {axis.get_title(): [line.get_ydata()[0] for line in axis.lines] for axis in figure.axes}
    assert sorted(filter(None, drawn.values())) == [[0.0], [1.0], [2.0], [3.0]]


def test_losses_and_energies_of_validation_data_have_axes_of_their_own():
    values = {"training_loss_net_loss": 1.0, "validation_loss_net_loss": 2.0}
    values |= {"validation_energy_gold": -30.0, "validation_energy_candidates": -20.0}
    figure = curves([run("a", values, values)])
    names = {axis.get_title(): [text.get_text() for text in axis.get_legend().get_texts()] for axis in figure.axes}
    assert names == {
        "Loss of the loss-net": ["loss_net_loss", "validation_loss_net_loss"],
        "Energy on validation data (low is good)": ["energy_gold", "energy_candidates"],
    }


def test_letters_of_figures_are_as_large_as_the_page_has_them():
    wide = 60 * 16 / 96
    many = run("a", epoch(0, training_grad_norm_task_net=2.0), epoch(1))
    half = numpy.eye(4, dtype=bool)
    pictures = [Picture("a", numpy.zeros((4, 4, 3)), half, half, 0.0)] * 7
    for figure in (curves([many]), masks(pictures)):
        assert figure.get_size_inches()[0] <= wide
    assert not any(axis.axison for axis in masks(pictures).axes)


def test_one_run_has_a_colour_for_each_metric_and_several_one_for_each_run():
    both = {"training_energy_prediction": -1.5}
    one = curves([run("a", epoch(0, **both), epoch(1, **both))])
    energies = next(axis for axis in one.axes if "Energy" in axis.get_title())
    assert len({line.get_color() for line in energies.lines}) == 2
    assert [text.get_text() for text in energies.get_legend().get_texts()] == ["energy_gold", "energy_prediction"]
    several = curves([run(name, epoch(0, **both), epoch(1, **both)) for name in ("a", "b$c$")])
    energies = next(axis for axis in several.axes if "Energy" in axis.get_title())
    assert len(energies.lines) == 4 and len({line.get_color() for line in energies.lines}) == 2
    assert len({line.get_linestyle() for line in energies.lines}) == 2
    (legend,) = several.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b\\$c\\$"]


def test_a_metric_that_begins_later_is_drawn_where_it_is():
    figure = curves([run("a", epoch(0), epoch(1, training_energy_prediction=-3.0))])
    (line,) = [line for axis in figure.axes for line in axis.lines if list(line.get_ydata()) == [-3.0]]
    assert list(line.get_xdata()) == [2] and line.get_marker() == "."


def test_the_same_figure_gives_the_same_text():
    assert as_svg(curves([run("a", epoch(0))]), "x") == as_svg(curves([run("a", epoch(0))]), "x")


def test_trust_has_thresholds_of_label_sets_alone():
    found = Findings()
    found.confidences.append(numpy.array([0.2, 0.9]))
    found.hits.append(numpy.array([False, True]))
    assert titles(trust({"a": found})) == ["Calibration"]
    found.f1_at = {0.1: 40.0, 0.5: 60.0}
    figure = trust({"a": found})
    assert titles(figure) == ["Calibration", "Threshold"]
    assert list(figure.axes[1].lines[0].get_ydata()) == [40.0, 60.0]


def test_masks_that_are_empty_or_full_have_no_outline():
    image, half = numpy.zeros((4, 4, 3)), numpy.eye(4, dtype=bool)
    pictures = [Picture("a", image, half, half * False, 0.0), Picture("b", image, half, ~(half & ~half), 25.0)]
    figure = masks(pictures)
    assert titles(figure) == ["a\nIoU 0", "b\nIoU 25"]
    assert [len(axis.collections) for axis in figure.axes] == [1, 1]
