"""The memory of training: `scripts/upkeep/train_memory.py`."""

import sys

import pytest

from scripts.upkeep import train_memory
from scripts.upkeep.train_memory import KINDS, Taken, measured, seal


@pytest.mark.parametrize("name", KINDS)
def test_a_pass_and_an_epoch(tmp_path, name, monkeypatch):
    monkeypatch.setattr(train_memory, "PIECE", 64)
    for taken in measured(name, 150, 1, tmp_path):
        assert 100 < taken.megabytes < 2000 and taken.seconds > 0.1
    (place,) = tmp_path.iterdir()
    (data,) = place.glob("train.*")
    rows = [line for line in data.read_text().splitlines() if line[0] == "{"]
    assert len(rows) == len(set(rows)) == 150
    assert (place / "run" / "model.tar.gz").exists() and not (place / "dry" / "model.tar.gz").exists()


def test_a_command_that_fails(monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(SystemExit, match="^seal nothing failed:"):
        seal({}, "nothing")


@pytest.mark.parametrize("most, status", [(60.0, 0), (40.0, 1)])
def test_memory_that_grows_is_a_failure(monkeypatch, capsys, most, status):
    taken = {10: (Taken(450.0, 5.0), Taken(500.0, 6.0)), 1000: (Taken(450.4, 31.0), Taken(550.0, 62.0))}
    monkeypatch.setattr(train_memory, "measured", lambda name, number, *_: taken[number])
    arguments = ["--texts", "10", "1000", "--rows", "--growth", str(most)]
    monkeypatch.setattr(sys, "argv", ["train_memory.py", *arguments])
    with pytest.raises(SystemExit) as ended:
        train_memory.main()
    assert ended.value.code == status
    assert capsys.readouterr().out.endswith(
        "| texts | 10 | 450 | 5 | 500 | 6 |\n| texts | 1,000 | 450 | 31 | 550 | 62 |\n"
    )
