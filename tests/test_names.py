"""Every name in the code is defined, also on lines that no test reaches."""

import ast
from pathlib import Path

import pytest
from pyflakes.checker import Checker
from pyflakes.messages import UndefinedLocal, UndefinedName

ROOT = Path(__file__).resolve().parents[1]


def undefined(source: str, name: str = "source") -> list:
    found = Checker(ast.parse(source), filename=name).messages
    return [str(message) for message in found if isinstance(message, (UndefinedLocal, UndefinedName))]


def test_it_finds_them():
    assert undefined("def function():\n    raise ConfigurationError\n") == [
        "source:2:11: undefined name 'ConfigurationError'"
    ]
    assert not undefined("import os\n\nfound = os\n")


@pytest.mark.parametrize("folder", ["seal", "scripts", "tests"])
def test_every_name_is_defined(folder):
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    found = [line for path in paths for line in undefined(path.read_text(encoding="utf-8"), str(path))]
    assert not found, "\n".join(found)
