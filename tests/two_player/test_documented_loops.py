"""Programs of docs/python.md, run as they stand there."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from tests.test_torch_alone import ALONE
from tests.tiny_bert import save_tiny_bert

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def programs():
    return re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def test_a_plain_loop_needs_torch_alone_and_prints_what_the_page_says():
    program = programs()[0]
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


def test_a_classifier_of_hugging_face_is_a_task_net(tmp_path):
    words = "the bill and fine are too high . limes were cut back".split()
    folder, found = save_tiny_bert(tmp_path / "bert", words), {}
    code, count = re.subn(r'^MODEL = ".*"$', f"MODEL = {str(folder)!r}", programs()[1], flags=re.MULTILINE)
    assert count == 1
    exec(compile(code, "python.md", "exec"), found)
    nets, step, batch = found["nets"], found["step"], {"inputs": found["inputs"], "gold": found["gold"]}
    before = {name: value.clone() for name, value in nets.named_parameters()}
    losses = step.step(batch)
    assert all(torch.isfinite(loss) for loss in losses.values())
    moved = {name.partition(".")[0] for name, value in nets.named_parameters() if not torch.equal(value, before[name])}
    assert moved == {"task_net", "loss_net"}
    assert nets(found["inputs"]).shape == (2, 3)


def test_a_function_for_engines_gives_the_records_of_an_iterator_of_lines(monkeypatch):
    from allennlp.predictors import Predictor

    from tests.predictors.multilabel_nets import predictor

    loaded = []
    monkeypatch.setattr(Predictor, "from_path", lambda path: loaded.append(path) or predictor())
    (program,) = [program for program in programs() if "def records(lines)" in program]
    found = {}
    exec(compile(program, "python.md", "exec"), found)
    lines = ['{"features": {"ripe": %d}}' % (number % 7) for number in range(600)]
    alone = predictor()
    wanted = [alone.dump_line(alone.predict_json(alone.load_line(line))).rstrip("\n") for line in lines]
    records = [re.sub(r'"line": \d+, ', "", record) for record in found["records"](iter(lines))]
    assert records == [re.sub(r'"line": \d+, ', "", record) for record in wanted] and len(loaded) == 1
