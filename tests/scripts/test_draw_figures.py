import json
import re
from xml.etree import ElementTree

import pytest

from scripts.upkeep import draw_figures

FIGURES = draw_figures.ROOT / "docs" / "figures"
DRAWN = (
    "example",
    "tagger",
    "record",
    "results",
    "step",
    "without_cross_entropy",
    "static_to_dynamic",
    "energy_and_loss",
)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    assert draw_figures.main(["--out", str(folder)]) == 0
    return folder


def test_the_figures_of_the_docs_are_what_the_script_draws(drawn):
    names = sorted(path.name for path in drawn.iterdir())
    assert names == sorted(path.name for path in FIGURES.glob("*.svg")) == [f"{name}.svg" for name in sorted(DRAWN)]
    for name in names:
        again = f"python scripts/upkeep/draw_figures.py: {name}"
        assert (FIGURES / name).read_bytes() == (drawn / name).read_bytes(), again


@pytest.mark.parametrize("name", DRAWN)
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


def test_the_first_page_that_has_a_data_set_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(draw_figures, "RESULTS", tmp_path)
    heading = "### test: Example F1 at 0.5\n\n| method | bibtex | genbase | mean gain |\n| :-- | --: | --: | --: |"
    rows = "| **Energy only** |  |  |  |\n| NCE | 1.50 † | 2.50 | 9.00 |\n"
    rows += "| **SEAL-dynamic** |  |  |  |\n| NCE | {} | {} | – |"
    (tmp_path / "one.md").write_text(f"{heading}\n{rows.format('41.25 ± 0.50 †', '–')}\n\n#### test\n\n| NCE | 7 |\n")
    (tmp_path / "two.md").write_text(f"# valid\n\n{heading}\n{rows.format('40.00', '98.00')}\n")
    assert draw_figures.f1_of(("one", "two"), "SEAL-dynamic", "NCE") == {"bibtex": 41.25, "genbase": 98.0}
    assert draw_figures.f1_of(("one",), "Energy only", "NCE") == {"bibtex": 1.5, "genbase": 2.5}


def test_bars_are_those_of_the_tables_in_the_docs(drawn):
    """The figures and the tables beside them are of the same pages."""
    text = (draw_figures.ROOT / "docs" / "measurements" / "multilabel.md").read_text(encoding="utf-8")

    def table(heading):
        rows = text.partition(f"\n### {heading}\n")[2] or text.partition(f"\n## {heading}\n")[2]
        rows = [line.strip("|").split("|") for line in rows.partition("\n#")[0].splitlines() if line.startswith("| ")]
        return {row[0].strip(): [re.split("[ †]", cell.strip(" *"))[0].strip("*") for cell in row[1:]] for row in rows}

    main = table("Real data")
    for loss in ("margin", "regression", "NCE"):
        for pages, group, prefix in (
            (draw_figures._STATIC, "SEAL-static", "static "),
            (draw_figures._DYNAMIC, "SEAL-dynamic", ""),
        ):
            found = draw_figures.f1_of(pages, group, f"{prefix}{loss}")
            told = dict(zip(main["method"], map(float, main[f"{prefix or 'SEAL '}{loss}"])))
            assert found == told
    alone = table("Energy-only models")
    for method, row in (("SPEN", "SPEN"), ("NCE", "NCE, energy only")):
        found = draw_figures.f1_of(draw_figures._ALONE[method], "Energy only, gradient-based inference", method)
        told = {
            data: float(cell) for data, cell in zip(alone["method"], alone[row]) if cell and data in draw_figures._SETS
        }
        assert found == told
    bars = ElementTree.parse(drawn / "static_to_dynamic.svg").getroot()
    shown = [one.text for one in bars.iter(f"{SVG}text") if one.text[0] in "+-"]
    assert len(shown) == 15 and sum(one.startswith("+") for one in shown) == 6
