import json
import re
from xml.etree import ElementTree

import pytest

from scripts.upkeep import draw_figures

FIGURES = draw_figures.ROOT / "docs" / "figures"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    assert draw_figures.main(["--out", str(folder)]) == 0
    return folder


def test_the_figures_of_the_docs_are_what_the_script_draws(drawn):
    names = sorted(path.name for path in drawn.iterdir())
    assert names == sorted(path.name for path in FIGURES.glob("*.svg")) == ["example.svg", "results.svg", "step.svg"]
    for name in names:
        again = f"python scripts/upkeep/draw_figures.py: {name}"
        assert (FIGURES / name).read_bytes() == (drawn / name).read_bytes(), again


@pytest.mark.parametrize("name", ["example", "results", "step"])
def test_a_figure_is_whole(name, drawn):
    root = ElementTree.parse(drawn / f"{name}.svg").getroot()
    width, height = float(root.get("width")), float(root.get("height"))
    assert root.find(f"{SVG}title").text
    for text in root.iter(f"{SVG}text"):
        # A letter is about half as wide as high.
        long = len(text.text) * float(text.get("font-size")) * 0.52
        left = float(text.get("x")) - {"middle": long / 2, "end": long}.get(text.get("text-anchor"), 0)
        assert left >= 0 and left + long <= width + 1 and 0 < float(text.get("y")) < height, text.text
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= width


def test_the_example_marks_the_role_that_is_there_twice(drawn):
    record = json.loads(draw_figures.EXAMPLE.read_text(encoding="utf-8"))
    own, chosen = record["frames"]
    assert own["probability"] > chosen["probability"] and own["energy"] > chosen["energy"] and chosen["chosen"]
    root = ElementTree.parse(drawn / "example.svg").getroot()
    marked = [box for box in root.iter(f"{SVG}rect") if box.get("stroke") == draw_figures.ORANGE]
    assert len(marked) == [role for role, _, _ in own["spans"]].count("ARG1") == 2
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert f"{own['probability']:.2f}" in texts and f"{chosen['energy']:.1f}" in texts


def test_points_stand_where_the_scores_are(tmp_path):
    path = tmp_path / "scores.csv"
    names = list(draw_figures._DATA)
    scores = [score for score, _ in draw_figures._SCORES]
    rows = [f"{data},logistic regression,{score},50.00 ± 1.00,75.00 ± 0.10" for data in names for score in scores]
    path.write_text("\n".join(["data,classifier,score,own,structured", *rows]), encoding="utf-8")
    text = draw_figures.results([path])
    # 0 is at 150 in the first panel, and a percent 3.2 wide.
    assert len(re.findall(r'<circle cx="310" ', text)) == len(re.findall(r'<circle cx="390" ', text)) == len(names)
