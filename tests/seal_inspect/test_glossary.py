"""docs/glossary.md has every name of a training log, and no other."""

import ast
import inspect
import json
import re
from pathlib import Path

import pytest
import torch

from seal.losses import TaskLoss
from seal.metrics import MaskScore, MultilabelScore, SrlScore, TaggingScore
from seal.models import SealModel
from seal.training.implicit_gradient_trainer import ImplicitLoss
from seal.two_player import LOSS_NET, TASK_NET

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def names_in(text):
    cells = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall("`([^`]+)`", cell)}


NAMES = names_in(GLOSSARY)
PREFIXES = tuple(name for name in NAMES if name.endswith("_"))
SUFFIXES = tuple(name for name in NAMES if name.startswith("_"))
#: Those of AllenNLP, which no code of ours names.
ITS = names_in(GLOSSARY.partition("AllenNLP adds")[2])


def bare(name):
    """A name without the parts that the first table explains."""
    for part in ("best_", "training_", "validation_", "test_", "cost_augmented_"):
        if name not in NAMES:
            name = name.removeprefix(part)
    for part in SUFFIXES:
        if name not in NAMES:
            name = name.removesuffix(part)
    return re.sub(r"^f1-.+", "f1-<label>", name)


def subclasses(cls):
    return {cls}.union(*(subclasses(sub) for sub in cls.__subclasses__()))


def reported():
    """The names under which training reports a value, as the code has them."""
    found = {cls.auxiliary_name for cls in subclasses(SealModel)}
    found |= {cls.supervised_name for cls in subclasses(TaskLoss)}
    for path in (ROOT / "seal").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                of_monitors = node.func.attr == "add" and ast.unparse(node.func.value).endswith("monitors")
                if of_monitors or node.func.attr == "monitor":
                    if isinstance(node.args[0], ast.Constant):
                        found.add(node.args[0].value)
                    elif isinstance(node.args[0], ast.JoinedStr):
                        start = node.args[0].values[0].value
                        found |= {f"{start}{player}" for player in (TASK_NET, LOSS_NET)}
    # One call reports all that the implicit gradient measures, from a table of names.
    source = inspect.cleandoc(inspect.getsource(ImplicitLoss._report))
    found |= set(re.findall(r'"(\w+)": report\.', source)) | set(re.findall(r'values\["(\w+)"\]', source))
    return found


def scored():
    frames, tags = SrlScore(by_role=True), TaggingScore(spans=True, by_label=True)
    labels, masks = MultilabelScore(), MaskScore()
    frames([["B-ARG0"]], [["B-ARG0"]])
    tags([["B-PER"]], [["B-PER"]])
    labels(torch.tensor([[0.9, 0.1]]), torch.tensor([[1.0, 0.0]]))
    thresholds = {"tuned": 0.5, "per_label": torch.tensor([0.5, 0.5])}
    return {
        *frames.get_metric(reset=True),
        *tags.get_metric(reset=True),
        *labels.get_metric(reset=True, thresholds=thresholds),
        *masks.get_metric(reset=True),
    }


def test_the_code_is_read_as_it_reports():
    assert reported() >= {"energy_gold", "loss_net_loss", "grad_norm_loss_net", "predicate_loss", "solver_residual"}
    assert reported() >= {"least_curvature", "reward_draws", "task_net_ranking"} and len(reported()) > 15


def test_every_name_that_training_reports_is_explained():
    assert not {name for name in reported() if bare(name) not in NAMES}


def test_every_score_is_explained():
    assert not {name for name in scored() if bare(name) not in NAMES}


@pytest.mark.parametrize("method", ["nce", "cross_entropy"])
def test_every_name_of_a_run_is_explained(method, small_run):
    metrics = json.loads((small_run(method) / "metrics.json").read_text())
    epoch = json.loads((small_run(method) / "metrics_epoch_0.json").read_text())
    assert not {name for name in {**metrics, **epoch} if bare(name) not in NAMES}


def test_nothing_is_explained_that_is_not_there():
    there = {bare(name) for name in reported() | scored()} | ITS | set(PREFIXES) | set(SUFFIXES)
    # SrlModel adds the score of AllenNLP's metric of predicates; `loss` is every trainer's.
    assert not NAMES - there - {"predicate_f1", "loss"}
