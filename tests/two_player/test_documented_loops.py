"""Programs of docs/python.md, run as they stand there."""

import json
import math
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.test_torch_alone import ALONE
from tests.tiny_bert import save_tiny_bert

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def programs():
    return re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_a_plain_loop_needs_torch_alone_and_prints_what_the_page_says():
    program = programs()[1]
    assert program.count("\n") < 60 and "allennlp" not in program
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ALONE) + program], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    printed = re.findall(r"^epoch (\d+): F1 ([\d.]+), loss-net ([\d.]+)$", ended.stdout, flags=re.MULTILINE)
    told = re.findall(r"^epoch (\d+): F1 ([\d.]+), loss-net ([\d.]+)$", PAGE, flags=re.MULTILINE)
    assert len(printed) == 4, ended.stderr
    for found, wanted in zip(printed, told, strict=True):
        # Other processors round otherwise, which a training run makes larger.
        assert [float(number) for number in found] == pytest.approx([float(n) for n in wanted], abs=2.0)


class Accelerator:
    """What the program uses of Accelerate's, which divides a loss by the number of batches that make an update."""

    device = torch.device("cpu")

    def __init__(self):
        self.losses = []

    def prepare(self, loader):
        return loader

    def backward(self, loss):
        self.losses.append(float(loss.detach()))
        (loss / 1).backward()


BACKWARD = "    backward=accelerator.backward,\n"


@pytest.fixture
def classifier(tmp_path, monkeypatch, capsys):
    """Runs the program for a classifier of Hugging Face; gives its names, and the losses that it prints."""
    monkeypatch.setitem(sys.modules, "accelerate", SimpleNamespace(Accelerator=Accelerator))
    program = programs()[2]
    assert program.count("\n") < 60 and program.count(BACKWARD) == 1
    folder = save_tiny_bert(tmp_path / "bert", "the bill and fine are too high . limes were cut back".split())
    program, count = re.subn(r'^MODEL = ".*"$', f"MODEL = {str(folder)!r}", program, flags=re.MULTILINE)
    assert count == 1

    def run(backward=BACKWARD):
        found = {}
        capsys.readouterr()
        exec(compile(program.replace(BACKWARD, backward), "python.md", "exec"), found)
        printed = re.findall(r"'loss_net': (\S+), 'task_net': (\S+)}", capsys.readouterr().out)
        return found, [float(loss) for both in printed for loss in both]

    return run


def test_a_classifier_of_hugging_face_is_a_task_net(classifier):
    found, losses = classifier()
    nets, step = found["nets"], found["step"]
    # Three epochs of two batches, and two players.
    assert len(losses) == 3 * 2 * 2 and all(map(math.isfinite, losses))
    before = {name: value.clone() for name, value in nets.named_parameters()}
    batch = found["batch_of"](found["DATA"])
    step.step(batch)
    moved = {name.partition(".")[0] for name, value in nets.named_parameters() if not torch.equal(value, before[name])}
    assert moved == {"task_net", "loss_net"}
    assert nets(batch["inputs"]).shape == (3, 3)


def test_both_players_backpropagate_by_the_function_that_is_given(classifier):
    given, losses = classifier()
    assert given["accelerator"].losses == pytest.approx(losses, abs=6e-4)
    plain, same = classifier(backward="")
    assert plain["accelerator"].losses == [] and same == losses
    weights = plain["nets"].state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in given["nets"].state_dict().items())


def test_a_function_for_engines_gives_the_records_of_an_iterator_of_lines(monkeypatch):
    from allennlp.predictors import Predictor

    from tests.tasks.multilabel.nets import predictor

    loaded = []
    monkeypatch.setattr(Predictor, "from_path", lambda path: loaded.append(path) or predictor())
    (program,) = [program for program in programs() if "def records(lines)" in program]
    found = {}
    exec(compile(program, "python.md", "exec"), found)
    lines = ['{"features": {"ripe": %d}}' % (number % 7) for number in range(600)]
    alone = predictor()
    wanted = [alone.dump_line(alone.predict_json(alone.load_line(line))).rstrip("\n") for line in lines]
    records = list(found["records"](iter(lines)))
    assert len(records) == len(wanted) and len(loaded) == 1
    for one, other in zip(map(json.loads, records), map(json.loads, wanted)):
        # Sums of a batch are rounded otherwise than those of a line.
        numbers = {**one.pop("labels"), "": one.pop("probability")}
        assert numbers == pytest.approx({**other.pop("labels"), "": other.pop("probability")}, abs=1e-5)
        assert {**one, "line": 0} == {**other, "line": 0}
