from seal.files.runs import Run
from seal_inspect.run_figures import as_svg, curves


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


def test_the_same_figure_gives_the_same_text():
    assert as_svg(curves([run("a", epoch(0))]), "x") == as_svg(curves([run("a", epoch(0))]), "x")
