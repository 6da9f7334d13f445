"""
What README.md and docs/ say is so: links lead somewhere, paths come with a clone, configs and code are valid, and
scores and names are those of the measurements and libraries.
"""

import ast
import fnmatch
import importlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import _jsonnet
import pytest
from allennlp.common import Params

import seal.models  # noqa: F401

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
    # Configs and scripts in commands, but not the patterns in tables.
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


def scores(line):
    """Numbers of two decimals."""
    return set(re.findall(r"(?<![\d.])\d+\.\d\d(?![\d.])", line))


def table_rows(text):
    return [line for line in text.splitlines() if line.startswith("|")]


def method(row):
    return re.sub(r"[*†]|SEAL", "", row.split("|")[1]).strip().lower()


def sections(page):
    """For each heading: its text, and the pages of results that it or a heading above it points to."""
    pages = {}
    for part in re.split(r"^(?=##+ )", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        level = len(part) - len(part.lstrip("#"))
        pages = {above: found for above, found in pages.items() if above < level}
        pages[level] = re.findall(r"\]\((\.\./results/\w+\.md)\)", part)
        yield part, [page.parent / path for found in pages.values() for path in found]


def test_scores_in_the_measurements_are_those_of_the_pages():
    checked = 0
    for part, pages in (found for page in MEASUREMENTS for found in sections(page)):
        printed = table_rows("\n".join(page.read_text(encoding="utf-8") for page in pages))
        rows = [row for row in table_rows(part) if method(row) != "gain"]  # A difference of two rows above it.
        for row in rows if printed else ():
            # Rows of the same method, where the pages have it by the same name.
            same = [line for line in printed if method(line) == method(row)] or printed
            assert not scores(row) - scores(" ".join(same)), row
            checked += len(scores(row))
    assert checked > 200


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_scores_in_the_guides_are_those_of_the_measurements(page):
    measured = [scores(part) for measurements in MEASUREMENTS for part, _ in sections(measurements)]
    for row in table_rows(page.read_text(encoding="utf-8")):
        # All numbers of a row belong to one measurement.
        assert any(scores(row) <= section for section in measured), row


def test_the_readme_and_the_pages_of_tasks_have_scores():
    found = {page.name: sum(len(scores(row)) for row in table_rows(page.read_text())) for page in GUIDES}
    assert found["README.md"] > 5 and sum(count > 0 for count in found.values()) >= 7


def test_a_row_of_the_readme_links_the_section_that_has_its_scores():
    parts = {}
    for page in MEASUREMENTS:
        for part, _ in sections(page):
            parts[name(page), slug(part.splitlines()[0].lstrip("# "))] = part
    rows = [row for row in table_rows((ROOT / "README.md").read_text(encoding="utf-8")) if scores(row)]
    for row in rows:
        (section,) = re.findall(r"\((docs/measurements/\w+\.md)#([^)]+)\)", row)
        assert scores(row) <= scores(parts[section]), row


def test_every_page_is_reached_from_the_readme():
    linked = re.findall(r"\]\((docs/[\w/]+\.md)", (ROOT / "README.md").read_text(encoding="utf-8"))
    pages = {name(page) for page in [*GUIDES[1:], OVERVIEW, COMPONENTS]}
    assert pages == set(linked) - {name(page) for page in MEASUREMENTS}
    listed = re.findall(r"^\| \[.*?\]\((measurements/\w+\.md)\)", OVERVIEW.read_text("utf-8"), flags=re.MULTILINE)
    assert {f"docs/{path}" for path in listed} == {name(page) for page in MEASUREMENTS}


@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_a_page_begins_with_a_command_or_a_config(page):
    before = page.read_text(encoding="utf-8").partition("\n## ")[0] if page != GUIDES[0] else page.read_text()
    assert re.search(r"^```(sh|jsonnet)$", before, flags=re.MULTILINE)


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


def test_the_first_config_is_a_file_and_can_be_changed_as_the_readme_says():
    (config,) = blocks(ROOT / "README.md", "jsonnet")
    # A config of a clone imports the library by its path, so that it is found by jsonnet alone.
    assert config.replace("'seal/", "'lib/") == (CONFIGS / "srl_nce.jsonnet").read_text(encoding="utf-8")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition("| to have | replace | by |\n|---|---|---|\n")[2].partition("\n\n")[0]
    changes = [re.findall(r"`([^`]+)`", row) for row in table.splitlines()]
    assert len(changes) >= 4
    seen = [evaluated(config)]
    for old, new in changes:
        assert config.count(old) == 1
        seen.append(evaluated(config.replace(old, new)))
        assert seen[-1] not in seen[:-1]


def methods_of(library, expression):
    code = f"local library = import 'lib/{library}.libsonnet'; std.objectFields({expression})"
    return set(json.loads(_jsonnet.evaluate_snippet("methods", code, jpathdir=[str(CONFIGS)])))


METHODS = {
    "srl": methods_of("srl", "library.method"),
    "multilabel": methods_of("multilabel_methods", "library"),
    "text": methods_of("text", "library.method"),
    "tagging": methods_of("tagging", "library.method"),
    "citations": methods_of("citation_tagging", "library.method"),
    "segmentation": methods_of("segmentation_methods", "library"),
    "parsing": methods_of("parsing", "library.method"),
}


def first_names(row):
    return re.findall(r"`([^`]+)`", row.split("|")[1])


def test_the_methods_of_the_overview_are_those_of_the_tasks():
    text = (ROOT / "docs" / "which_method.md").read_text(encoding="utf-8")
    rows = table_rows(text.partition("## The methods")[2].partition("\n## ")[0])[2:]
    assert len(rows) > 10
    for row in rows:
        tasks = row.split("|")[3].strip()
        # Either the tasks of all methods in the row, or those of each: "`a`: one, two; `b`: three".
        parts = re.findall(r"`(\w+)`: ([\w, ]+)", tasks) or [(names, tasks) for names in first_names(row)]
        assert {names for names, _ in parts} == set(first_names(row))
        for names, where in parts:
            for task in METHODS if where == "all" else where.split(", "):
                assert fnmatch.filter(METHODS[task], names), (names, task)


@pytest.mark.parametrize("task", ["multilabel", "tagging", "segmentation", "parsing"])
def test_the_page_of_a_task_has_all_its_methods(task):
    text = (ROOT / "docs" / f"{task}.md").read_text(encoding="utf-8")
    table = text.partition("| method | what it is |\n")[2].partition("\n\n")[0]
    named = {found for row in table_rows(table)[1:] for found in first_names(row)}
    assert named <= METHODS[task]
    # The library of tagging has all methods of words; this one is documented where it was measured, for texts.
    assert METHODS[task] - named <= {"regression_discrete"}


def test_configs_in_tables_are_there():
    checked = 0
    for page in GUIDES:
        for row in table_rows(page.read_text(encoding="utf-8")):
            for pattern in re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)*[_/]\*)`", row):
                if pattern not in ("static_*", "compound_*", "implicit_*"):  # Methods.
                    assert any(CONFIGS.glob(f"{pattern}.jsonnet")), pattern
                    checked += 1
    assert checked > 15


@pytest.mark.parametrize("page", [page for page in GUIDES if blocks(page, "python")], ids=name)
def test_python_can_be_imported(page):
    for block in blocks(page, "python"):
        for line in ast.parse(block).body:
            # `mine` is a package that docs/extending.md has the reader write; its own test runs it. The page that
            # needs Accelerate says so, and tests/two_player runs its program.
            if isinstance(line, ast.ImportFrom) and not line.module.startswith(("mine", "accelerate")):
                module = importlib.import_module(line.module)
                assert all(hasattr(module, found.name) for found in line.names)


def test_the_implicit_gradient_as_a_function_runs():
    (block,) = blocks(ROOT / "docs" / "implicit_gradients.md", "python")
    found = {}
    exec(compile(block, "implicit_gradients.md", "exec"), found)
    assert found["found"].gradient["log_decay"].abs().min() > 0
