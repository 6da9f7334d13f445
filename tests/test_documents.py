"""The files that README.md and docs/ point to exist, and come with a clone."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "data" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    wanted = {page.parent / link for link in links if link}
    # Configs and scripts in commands, but not the patterns in tables.
    wanted |= {ROOT / path for path in re.findall(r"\b((?:training_configs|scripts)/[\w/.]+\.\w+)", text)}
    missing = sorted(str(path.relative_to(ROOT)) for path in wanted if not path.exists())
    assert not missing
    headings = {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
    assert all(anchor in headings for anchor in re.findall(r"\]\(#([^)]+)\)", text))
    if shutil.which("git") and (ROOT / ".git").exists():
        paths = [str(path.resolve().relative_to(ROOT)) for path in wanted]
        found = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True)
        assert found.stdout == ""


def scores(line):
    """Numbers of two decimals."""
    return set(re.findall(r"(?<![\d.])\d+\.\d\d(?![\d.])", line))


def table_rows(text):
    return [line for line in text.splitlines() if line.startswith("|")]


def method(row):
    return re.sub(r"[*†]|SEAL", "", row.split("|")[1]).strip().lower()


def sections(text):
    """For each heading: its text, and the pages of results that it or a heading above it points to."""
    pages = {}
    for part in re.split(r"^(?=##+ )", text, flags=re.MULTILINE):
        level = len(part) - len(part.lstrip("#"))
        pages = {above: found for above, found in pages.items() if above < level}
        pages[level] = re.findall(r"\]\((results/\w+\.md)\)", part)
        yield part, [page for found in pages.values() for page in found]


def test_scores_in_the_measurements_are_those_of_the_pages():
    checked = 0
    for part, pages in sections((ROOT / "docs" / "measurements.md").read_text(encoding="utf-8")):
        printed = table_rows("\n".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in pages))
        rows = [row for row in table_rows(part) if method(row) != "gain"]  # A difference of two rows above it.
        for row in rows if printed else ():
            # Rows of the same method, where the pages have it by the same name.
            same = [line for line in printed if method(line) == method(row)] or printed
            assert not scores(row) - scores(" ".join(same)), row
            checked += len(scores(row))
    assert checked > 200


def test_scores_in_the_readme_are_those_of_the_measurements():
    measured = [scores(part) for part, _ in sections((ROOT / "docs" / "measurements.md").read_text(encoding="utf-8"))]
    rows = table_rows((ROOT / "README.md").read_text(encoding="utf-8"))
    assert sum(len(scores(row)) for row in rows) > 5
    for row in rows:
        # All numbers of a row belong to one measurement.
        assert any(scores(row) <= section for section in measured), row
