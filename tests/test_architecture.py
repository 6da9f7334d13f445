"""Packages import from the layers below them alone."""

import ast
import tomllib
from pathlib import Path

import pytest

import seal
from tests.test_torch_alone import CORE

ROOT = Path(__file__).resolve().parents[1]
#: The layers of docs/architecture.md, from the lowest.
LAYERS = {
    package: layer
    for layer, packages in enumerate(
        (
            "registry",
            "constraints common",
            "hypergradients output_spaces rewards structure",
            "energies scores",
            "losses nets",
            "samplers",
            "two_player",
            "files",
            "allennlp tagger",
            "tasks",
            "training",
            "cli sklearn",
        )
    )
    for package in packages.split()
}
PACKAGES = sorted(folder.parent.name for folder in (ROOT / "seal").glob("*/__init__.py"))
#: The modules beside the packages stand between the core and what needs AllenNLP.
BESIDE = 6
#: The tasks that a task stands on, beside `base`.
TASKS = {
    "base": (),
    "multilabel": (),
    "parsing": ("tagging",),
    "segmentation": (),
    "srl": ("tagging",),
    "tagging": (),
    "text": ("multilabel",),
}
#: In the packages of the core, what its packages import only when it is asked for, and what that stands on.
NEEDS_MORE = {
    "energies/tag_language_model.py",
    "nets/encoders/adapters.py",
    "nets/encoders/characters.py",
    "nets/encoders/seq2seq.py",
    "nets/encoders/transformer.py",
    "nets/stacked_net.py",
}


def imports_of(file):
    """The modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "seal":
            yield from (f"seal.{name.name}" for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} has a relative import"
            yield node.module


def files_of(package):
    return sorted((ROOT / "seal" / package).rglob("*.py"))


def test_every_package_has_a_layer():
    assert set(PACKAGES) | {"registry"} == set(LAYERS)
    core = {name.removeprefix("seal.") for name in CORE}
    assert core | {"common", "registry"} == {package for package, layer in LAYERS.items() if layer <= 6}


def test_the_type_checker_reads_every_file():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["files"] == ["seal"] and "exclude" not in settings


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_from_the_layers_below(package):
    upward = set()
    for file in files_of(package):
        inside = str(file.relative_to(ROOT / "seal"))
        for module in imports_of(file):
            top, _, rest = module.partition(".")
            other = rest.partition(".")[0]
            if top != "seal" or other in (package, "") or (other == "allennlp" and inside in NEEDS_MORE):
                continue
            if LAYERS.get(other, BESIDE) >= LAYERS[package]:
                upward.add((inside, module))
    assert not upward


@pytest.mark.parametrize("task", TASKS)
def test_a_task_imports_from_base_and_the_tasks_that_it_names(task):
    allowed = {"base", task, *TASKS[task]} if task != "base" else {"base"}
    found = {module for file in files_of(f"tasks/{task}") for module in imports_of(file)}
    assert {module.split(".")[2] for module in found if module.startswith("seal.tasks.")} <= allowed


def test_what_needs_more_than_torch_in_the_packages_of_the_core():
    needs_more = set()
    for name in ("seal.common", *CORE):
        for file in files_of(name.removeprefix("seal.")):
            tops = {module.partition(".")[0] for module in imports_of(file)}
            if tops & {"allennlp", "transformers", "scipy", "sklearn", "spacy", "nltk"}:
                needs_more.add(str(file.relative_to(ROOT / "seal")))
    assert needs_more == NEEDS_MORE


def test_every_package_says_what_lives_there():
    for file in [Path(seal.__file__), *(ROOT / "seal").rglob("*/__init__.py")]:
        told = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        assert told, f"{file} has no docstring"
