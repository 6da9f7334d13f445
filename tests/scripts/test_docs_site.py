"""scripts/upkeep/docs_site.py: the pages of docs/ link each other in the site, too."""

import pytest

from scripts.upkeep.docs_site import PAGES, with_links_of_the_site, write


@pytest.mark.parametrize(
    "before, after",
    [
        ("[a plan](architecture.md)", "[a plan](architecture.html)"),
        ("[loops](python.md#a-loop), [top](#top)", "[loops](python.html#a-loop), [top](#top)"),
        ("[there](https://example.org/a.md)", "[there](https://example.org/a.md)"),
        ("![drawn](figures/a.svg)", "![drawn](figures/a.svg)"),
        ("[a file](../CONTRIBUTING.md) of the repository", "a file of the repository"),
    ],
)
def test_links(before, after):
    assert with_links_of_the_site(before) == after


def test_the_site(tmp_path):
    pytest.importorskip("pdoc", reason="pip install -r requirements-dev.txt")
    write(tmp_path)
    assert "MarginLoss" in (tmp_path / "seal" / "losses" / "margin.html").read_text(encoding="utf-8")
    for page in PAGES:
        assert f'href="{page.stem}.html"' in (tmp_path / "seal.html").read_text(encoding="utf-8")
        assert (tmp_path / f"{page.stem}.html").is_file()
