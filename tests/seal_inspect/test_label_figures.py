import numpy
import torch

from seal_inspect.label_figures import draw_surfaces
from tests.seal_inspect.drawn import parsed_formulas, saved_figures


def test_surfaces_of_energies_have_one_scale_and_the_first_its_own(tmp_path, monkeypatch):
    steps = torch.linspace(0, 1, 5).numpy()
    first, second = numpy.meshgrid(steps, steps, indexing="ij")
    surfaces = {"cross-entropy": 10 * first, "apart": first - second, "together": 3 * first * second}
    with saved_figures(monkeypatch) as figures:
        draw_surfaces(surfaces, {title: ["red", "round"] for title in surfaces}, str(tmp_path / "a.png"))
    panels = [axis for axis in figures[0].axes if axis.images]
    assert [panel.images[0].get_clim() for panel in panels] == [(0.0, 10.0), (-1.0, 3.0), (-1.0, 3.0)]
    # A row of the table is a value of the first output, which is drawn along the x-axis.
    assert numpy.array_equal(panels[0].images[0].get_array(), surfaces["cross-entropy"].T)
    assert panels[0].get_xlabel() == "$y_i$: red" and panels[0].get_ylabel() == "$y_k$: round"


def test_names_are_no_formulas(tmp_path, monkeypatch):
    names = ["$no_such^$", r"a $\nosuch$"]
    table = numpy.array([[1.0, -3.0], [2.0, 0.0]])
    with parsed_formulas(monkeypatch) as formulas:
        draw_surfaces({"one": table, "other": table}, {"one": names, "other": names}, str(tmp_path / "a.png"))
    assert {formula.partition(":")[0] for formula in formulas} == {"$y_i$", "$y_k$"}
