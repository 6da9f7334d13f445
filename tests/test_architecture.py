"""Rooms import from the floors below them alone."""

import ast
import tomllib
from pathlib import Path

import pytest

import seal
from tests.test_torch_alone import CORE

ROOT = Path(__file__).resolve().parents[1]
#: The floors of docs/architecture.md, from the lowest.
FLOORS = {
    room: floor
    for floor, rooms in enumerate(
        (
            "registry",
            "constraints common",
            "hypergradients output_spaces rewards structure",
            "energies scores",
            "losses nets",
            "samplers",
            "two_player",
            "files",
            "dataset_readers metrics",
            "models",
            "allennlp",
            "predictors training",
            "cli sklearn",
        )
    )
    for room in rooms.split()
}
ROOMS = sorted(folder.parent.name for folder in (ROOT / "seal").glob("*/__init__.py"))
#: The modules beside the rooms stand between the core and AllenNLP's room.
BESIDE = 6
#: In the rooms of the core, what its packages import only when it is asked for, and what that stands on.
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


def files_of(room):
    return sorted((ROOT / "seal" / room).rglob("*.py"))


def test_every_room_has_a_floor():
    assert set(ROOMS) | {"registry"} == set(FLOORS)
    core = {name.removeprefix("seal.") for name in CORE}
    assert core | {"common", "registry"} == {room for room, floor in FLOORS.items() if floor <= 6}


def test_the_type_checker_reads_the_core():
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["files"]
    core = {room for room, floor in FLOORS.items() if floor <= 6}
    assert core <= {path.removeprefix("seal/").removesuffix(".py") for path in checked}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_from_the_floors_below(room):
    upward = set()
    for file in files_of(room):
        inside = str(file.relative_to(ROOT / "seal"))
        for module in imports_of(file):
            top, _, rest = module.partition(".")
            other = rest.partition(".")[0]
            if top != "seal" or other in (room, ""):
                continue
            if FLOORS.get(other, BESIDE) >= FLOORS[room]:
                upward.add((inside, module))
    assert not upward


def test_what_needs_more_than_torch_in_the_rooms_of_the_core():
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
