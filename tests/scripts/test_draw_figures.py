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
