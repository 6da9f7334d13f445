import numpy

from seal_inspect.tag_figures import draw_confusions, draw_neighbours
from tests.seal_inspect.drawn import parsed_formulas, saved_figures


def test_a_bar_a_confusion_the_most_on_top(tmp_path, monkeypatch):
    with saved_figures(monkeypatch) as figures:
        draw_confusions([("N", "V", 5), ("A", "D", 2)], "first line\nsecond", str(tmp_path / "a.png"))
    (panel,) = figures[0].axes
    assert [bar.get_width() for bar in panel.patches] == [5, 2] and panel.yaxis_inverted()
    assert [label.get_text() for label in panel.get_yticklabels()] == ["N → V", "A → D"]
    assert panel.get_title() == "first line\nsecond" and (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"


def test_where_there_are_no_confusions_no_axes_are_drawn(tmp_path, monkeypatch):
    with saved_figures(monkeypatch) as figures:
        draw_confusions([], "none of 404 words", str(tmp_path / "a.png"))
    (panel,) = figures[0].axes
    assert panel.get_title() == "none of 404 words" and not panel.axison


def test_each_map_has_a_scale_of_its_own_about_0(tmp_path, monkeypatch):
    tables = {"one": numpy.array([[1.0, -3.0], [numpy.nan, 0.0]]), "other": numpy.array([[0.1, 0.0], [0.0, 0.2]])}
    with saved_figures(monkeypatch) as figures:
        draw_neighbours(tables, ["N", "V"], str(tmp_path / "a.png"), "what it is")
    panels = [axis for axis in figures[0].axes if axis.images]
    assert [panel.get_title() for panel in panels] == ["one", "other"]
    for panel, largest in zip(panels, (3.0, 0.2)):
        low, high = panel.images[0].get_clim()
        # The quantile cuts the very largest off.
        assert low == -high and 0.9 * largest < high <= largest


def test_nothing_but_0_and_nothing_known(tmp_path, monkeypatch):
    tables = {"zeros": numpy.zeros((2, 2)), "unknown": numpy.full((2, 2), numpy.nan)}
    with saved_figures(monkeypatch) as figures:
        draw_neighbours(tables, ["N", "V"], str(tmp_path / "a.png"), "")
    assert [axis.images[0].get_clim() for axis in figures[0].axes if axis.images] == [(-1.0, 1.0)] * 2


def test_names_are_no_formulas(tmp_path, monkeypatch):
    with parsed_formulas(monkeypatch) as formulas:
        draw_confusions([("PRP$", "WP$", 5), ("$^$", "D", 2)], "f1 of PRP$ and WP$", str(tmp_path / "a.png"))
        draw_neighbours({"one": numpy.eye(2)}, ["$^$", "V"], str(tmp_path / "a.png"), "what it is")
    assert not formulas
