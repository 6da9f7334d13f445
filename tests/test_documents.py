"""What README.md and docs/ point to is there, and comes with a clone."""

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
    # Configs and scripts in commands; not the patterns of tables.
    wanted |= {ROOT / path for path in re.findall(r"\b((?:training_configs|scripts)/[\w/.]+\.\w+)", text)}
    missing = sorted(str(path.relative_to(ROOT)) for path in wanted if not path.exists())
    assert not missing
    headings = {re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in text.splitlines()}
    assert all(anchor in headings for anchor in re.findall(r"\]\(#([^)]+)\)", text))
    if shutil.which("git") and (ROOT / ".git").exists():
        paths = [str(path.resolve().relative_to(ROOT)) for path in wanted]
        found = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True)
        assert found.stdout == ""
