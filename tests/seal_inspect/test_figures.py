import numpy

from seal_inspect.figures import draw_matrices, figure
from tests.seal_inspect.drawn import parsed_formulas, saved_figures


def test_panels_stand_in_a_row():
    drawing, panels = figure(3, 2.0, 1.5)
    assert len(panels) == 3 and drawing.get_size_inches().tolist() == [6.0, 1.5]
    assert len(figure(1, 2.0, 1.5)[1]) == 1


def test_each_matrix_has_a_scale_of_its_own_about_0(tmp_path, monkeypatch):
    matrices = {
        "one": numpy.array([[1.0, -3.0], [numpy.nan, 0.0]]),
        "other": numpy.array([[0.1, 0.0], [0.0, 0.2]]),
        "zeros": numpy.zeros((2, 2)),
        "unknown": numpy.full((2, 2), numpy.nan),
    }
    with saved_figures(monkeypatch) as figures:
        draw_matrices(matrices, ["red", "round"], str(tmp_path / "a.png"))
    panels = [axis for axis in figures[0].axes if axis.images]
    assert [panel.get_title() for panel in panels] == list(matrices)
    assert [panel.images[0].get_clim() for panel in panels] == [(-3.0, 3.0), (-0.2, 0.2), (-1.0, 1.0), (-1.0, 1.0)]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["red", "round"]


def test_a_share_below_1_cuts_the_very_largest_off(tmp_path, monkeypatch):
    with saved_figures(monkeypatch) as figures:
        draw_matrices({"one": numpy.array([[1.0, -3.0], [0.0, 0.0]])}, ["N", "V"], str(tmp_path / "a.png"), share=0.995)
    low, high = figures[0].axes[0].images[0].get_clim()
    assert low == -high and 2.7 < high < 3


def test_names_are_no_formulas(tmp_path, monkeypatch):
    with parsed_formulas(monkeypatch) as formulas:
        draw_matrices({"one": numpy.eye(2)}, ["$no_such^$", r"a $\nosuch$"], str(tmp_path / "a.png"))
    assert not formulas
