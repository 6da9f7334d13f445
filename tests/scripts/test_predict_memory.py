"""The memory of `predict`: `scripts/upkeep/predict_memory.py`."""

import json
import random
import subprocess
import sys

import pytest

from scripts.upkeep import predict_memory
from scripts.upkeep.predict_memory import ROOT, TASKS, Taken, seal


@pytest.mark.parametrize("name", sorted(TASKS))
def test_lines_of_mixed_length(tmp_path, name):
    first, again = (list(TASKS[name].lines(500, random.Random(1), tmp_path)) for _ in range(2))
    assert first == again and len(first) == 500 and not any("\n" in line for line in first)
    lengths = sorted(map(len, first))
    if name == "masks":
        assert {line for line in first if "1024.png" in line} == {first[199]}
        assert all(len(json.loads(line)["image"]) for line in first)
    else:
        assert lengths[250] < 200 and lengths[-1] > 1000


def test_the_memory_of_a_command():
    # In a small process, as on Linux a new one has at least the peak of the one that started it.
    code = "from scripts.upkeep.predict_memory import seal; print(*seal('--version'))"
    output = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    megabytes, seconds = map(float, output.split())
    assert 100 < megabytes < 2000 and seconds > 0.1


def test_a_command_that_fails(monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(SystemExit, match="^seal nothing failed:"):
        seal("nothing")


@pytest.mark.parametrize("most, status", [(1100.0, 0), (1000.0, 1)])
def test_too_much_memory_is_a_failure(monkeypatch, capsys, most, status):
    monkeypatch.setattr(predict_memory, "measured", lambda *_: (50000, Taken(900.0, 3.0), Taken(1050.4, 31.0)))
    monkeypatch.setattr(sys, "argv", ["predict_memory.py", "--tasks", "tags", "--megabytes", str(most)])
    with pytest.raises(SystemExit) as ended:
        predict_memory.main()
    assert ended.value.code == status
    assert capsys.readouterr().out.endswith("| tags | 50,000 | 900 | 1,050 | 31 |\n")
