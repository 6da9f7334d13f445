"""scripts/upkeep/run_notebook.py, and the notebooks of docs/, which run from top to bottom and say what they print."""

import copy
import json
import re
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.upkeep import run_notebook
from scripts.upkeep.run_notebook import run
from tests.forked import Forked

ROOT = Path(__file__).resolve().parents[2]


def notebook(*sources):
    return {"cells": [{"cell_type": "code", "source": [source], "outputs": ["old"]} for source in sources]}


def test_cells_share_their_names_and_commands_know_them(tmp_path):
    made = notebook("name = 'a b'\nprint(1)", f"!echo {{name}}; echo lost >&2; cd {tmp_path}; pwd\n", "x = 1")
    run(made)
    texts = [[output["text"] for output in cell["outputs"]] for cell in made["cells"]]
    assert texts == [[["1\n"]], [["a b\n", f"{tmp_path}\n"]], []]
    assert [cell["execution_count"] for cell in made["cells"]] == [1, 2, 3]


MISTAKES = [("1 / 0", "division by zero"), ("!echo gone >&2; exit 3", "exit status 3\ngone")]


@pytest.mark.parametrize("source, told", MISTAKES)
def test_an_error_ends_it(source, told):
    with pytest.raises((RuntimeError, ZeroDivisionError), match=told):
        run(notebook(source, "print(2)"))


def forked(command, **_):
    """A command `seal ... 2> FILE` of the shell."""
    *arguments, sign, file = shlex.split(command)
    assert sign == "2>"
    process = Forked(*arguments, cwd=Path.cwd())
    out, told = process.communicate()
    Path(file).write_text(told, encoding="utf-8")
    return subprocess.CompletedProcess(command, process.returncode, stdout=out, stderr=told)


def test_the_tour_prints_what_it_says(monkeypatch):
    monkeypatch.chdir(ROOT / "docs")
    monkeypatch.setattr(run_notebook, "subprocess", SimpleNamespace(run=forked))
    stored = json.loads((ROOT / "docs" / "tour.ipynb").read_text(encoding="utf-8"))
    assert len(json.dumps(stored)) < 40_000
    again = copy.deepcopy(stored)
    run(again)
    cells = ([cell for cell in made["cells"] if cell["cell_type"] == "code"] for made in (stored, again))
    for one, other in zip(*cells):
        wanted, found = (re.findall(r"F1 ([\d.]+)|'f1\w*': ([\d.]+)", str(cell["outputs"])) for cell in (one, other))
        assert bool(one["outputs"]) == bool(other["outputs"]) and len(wanted) == len(found)
        # Other processors round otherwise, which a training run makes larger.
        for pair in zip(wanted, found):
            assert float("".join(pair[0])) == pytest.approx(float("".join(pair[1])), abs=3.0)
    text = str([cell["outputs"] for cell in again["cells"] if cell["cell_type"] == "code"])
    assert "recipes" in text and "epoch 20: F1" in text and "Scores on validation data" in text
