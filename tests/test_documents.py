"""README.md and docs/: links lead somewhere, every page is linked, and configs and code are valid."""

import ast
import importlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from allennlp.common import Params

import seal.plugin  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "training_configs"
OVERVIEW = ROOT / "docs" / "measurements.md"
MEASUREMENTS = sorted((ROOT / "docs" / "measurements").glob("*.md"))
# Written from the code, which tests/seal_inspect/test_components.py checks; its numbers are defaults.
COMPONENTS = ROOT / "docs" / "components.md"
GUIDES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").glob("*.md") if page not in (OVERVIEW, COMPONENTS)),
]
PAGES = [*GUIDES, COMPONENTS, ROOT / "data" / "README.md", OVERVIEW, *MEASUREMENTS]


def name(page):
    return str(page.relative_to(ROOT))


def blocks(page, language):
    """The code blocks of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def slug(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def anchors(page):
    """What GitHub makes of the headings; a comment in a code block is none."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {slug(heading) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_paths_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    wanted = {page.parent / link for link in links if link}
    # Configs and scripts in commands, but not the patterns in tables, nor what an earlier commit has.
    text = re.sub(r"```sh\n *# at commit .*?```", "", text, flags=re.DOTALL)
    wanted |= {ROOT / path for path in re.findall(r"\b((?:training_configs|scripts)/[\w/.]+\.\w+)", text)}
    missing = sorted(str(path.relative_to(ROOT)) for path in wanted if not path.exists())
    assert not missing
    pointed = re.findall(r"\]\(((?:[\w./-]+\.md)?)#([^)]+)\)", text)
    lost = [f"{to}#{anchor}" for to, anchor in pointed if anchor not in anchors(page.parent / to if to else page)]
    assert not lost
    if shutil.which("git") and (ROOT / ".git").exists():
        paths = [str(path.resolve().relative_to(ROOT)) for path in wanted]
        found = subprocess.run(["git", "check-ignore", *paths], cwd=ROOT, capture_output=True, text=True)
        assert found.stdout == ""


def test_every_page_is_reached_from_the_readme():
    linked = re.findall(r"\]\((docs/[\w/]+\.md)", (ROOT / "README.md").read_text(encoding="utf-8"))
    pages = {name(page) for page in [*GUIDES[1:], OVERVIEW, COMPONENTS]}
    assert pages == set(linked) - {name(page) for page in MEASUREMENTS}
    listed = re.findall(r"^\| \[.*?\]\((measurements/\w+\.md)\)", OVERVIEW.read_text("utf-8"), flags=re.MULTILINE)
    assert {f"docs/{path}" for path in listed} == {name(page) for page in MEASUREMENTS}


def evaluated(config):
    """The settings that a config has which stands alone in a folder, as a user's does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config.jsonnet")
        path.write_text(config, encoding="utf-8")
        return Params.from_file(str(path)).as_dict(quiet=True)


@pytest.mark.parametrize("page", [page for page in GUIDES if blocks(page, "jsonnet")], ids=name)
def test_configs_are_configs(page):
    for block in blocks(page, "jsonnet"):
        config = evaluated(block)
        assert {"dataset_reader", "model", "trainer", "train_data_path"} <= set(config)


def test_the_first_config_of_the_readme_is_a_file():
    (config,) = blocks(ROOT / "README.md", "jsonnet")
    assert config == (CONFIGS / "srl_nce.jsonnet").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [page for page in GUIDES if blocks(page, "python")], ids=name)
def test_python_can_be_imported(page):
    for block in blocks(page, "python"):
        for line in ast.parse(block).body:
            # `mine` is a package that docs/extending.md has the reader write; its own test runs it. The page that
            # needs Accelerate says so, and tests/two_player runs its program.
            if isinstance(line, ast.ImportFrom) and not line.module.startswith(("mine", "accelerate")):
                module = importlib.import_module(line.module)
                assert all(hasattr(module, found.name) for found in line.names)


def test_the_recipe_of_label_sets_on_a_classifier_runs_and_prints_what_the_page_says(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs" / "text.md"
    (block,) = blocks(page, "python")
    exec(compile(block, page.name, "exec"), {})
    assert f"```\n{capsys.readouterr().out}```" in page.read_text(encoding="utf-8")


def test_the_implicit_gradient_as_a_function_runs():
    (block,) = blocks(ROOT / "docs" / "implicit_gradients.md", "python")
    found = {}
    exec(compile(block, "implicit_gradients.md", "exec"), found)
    assert found["found"].gradient["log_decay"].abs().min() > 0
