from seal_inspect.compare_networks import draw_confusions
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


def test_names_are_no_formulas(tmp_path, monkeypatch):
    with parsed_formulas(monkeypatch) as formulas:
        draw_confusions([("PRP$", "WP$", 5), ("$^$", "D", 2)], "f1 of PRP$ and WP$", str(tmp_path / "a.png"))
    assert not formulas
