"""scripts/refine.py: descents of a trained loss-net against slow ones, the files, and mistakes."""

import json
import os
import shutil
from types import SimpleNamespace

import pandas
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params

from scripts import refine
from scripts.measure import refinement
from scripts.measure.grid import Grid
from scripts.measure.suite import ROOT
from seal.models import TextMultilabelModel
from seal.samplers.gradient_based_inference import OPTIMIZERS
from tests.multilabel import batch, model, seal_parts

VALID = ROOT / "data" / "multilabel_sample" / "valid.arff"
SETTINGS = {"epochs": 1, "batch_size": 100, "num_samples": 3, "task_net_lr": 1e-2}


@pytest.fixture
def trained(tmp_path, monkeypatch, allennlp_logging):
    def train(method):
        monkeypatch.chdir(ROOT)
        train_model(Params(Grid("multilabel").config("sample", method, SETTINGS)), str(tmp_path / method))
        return tmp_path / method

    return train


# The descent.


def slow_f1(points, gold, empty=1.0):
    """The mean example F1 of lists of numbers, in percent."""
    scores = []
    for point, truth in zip(points.tolist(), gold.tolist()):
        predicted = {i for i, value in enumerate(point) if value >= 0.5}
        true = {i for i, value in enumerate(truth) if value}
        total = len(predicted) + len(true)
        scores.append(2 * len(predicted & true) / total if total else empty)
    return 100 * sum(scores) / len(scores)


def slow_adam(net, rows, point, steps, step_size):
    """The points of a descent from `point`, `(rows, labels)`, and the mean energy of each."""
    state = net.task_state(rows["features"])
    features = net.frozen_features(state)
    mean, square, points, energies = 0.0, 0.0, [point], []
    for step in range(1, steps + 2):
        moved = points[-1].detach().requires_grad_(True)
        energy = net.loss_net(features, moved.unsqueeze(1)).squeeze(1)
        energies.append(float(energy.detach().mean()))
        (gradient,) = torch.autograd.grad(energy.sum(), moved)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        move = mean / (1 - 0.9**step) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)
        points.append((moved.detach() - step_size * move).clamp(0, 1))
    return points[:-1], energies


def net():
    made = model(3, **seal_parts()).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(3)
    return made


def refined(made, batches, **more):
    descent = refinement.Descent(**{"steps": 6, "step_size": 0.2, "optimizer": "adam", "restarts": 4, **more})
    torch.manual_seed(0)
    table, lines = refinement.refine(made, batches, descent)
    return {start: rows.reset_index(drop=True) for start, rows in table.groupby("start")}, lines


def test_from_the_task_net_it_is_a_slow_descent():
    made, rows = net(), batch(40)
    found, lines = refined(made, [rows])
    logits = made.task_state(rows["features"]).logits.detach()
    points, energies = slow_adam(made, rows, logits.sigmoid(), 6, 0.2)
    table = found["task_net"]
    assert table["step"].tolist() == list(range(7))
    assert table["f1"].tolist() == pytest.approx([slow_f1(point, rows["labels"]) for point in points])
    assert table["energy"].tolist() == pytest.approx(energies)
    assert table["f1_least_energy"].equals(table["f1"]) and table["f1"].nunique() > 2
    assert lines["task_net_f1"] == pytest.approx(table["f1"][0])
    outputs = torch.stack([(logits >= 0).double(), rows["labels"]], dim=1)
    energy = made.loss_net(made.frozen_features(made.task_state(rows["features"])), outputs).mean(dim=0)
    assert [lines["task_net_energy"], lines["gold_energy"]] == pytest.approx(energy.tolist())


@pytest.mark.parametrize("start", ["draw", "random"])
def test_restarts_are_averaged_and_the_least_energy_chosen(start, monkeypatch):
    made, rows = net(), batch(30)
    seen, sample = [], made.sample_with

    def spy(*arguments):
        seen.append(sample(*arguments))
        return seen[-1]

    monkeypatch.setattr(made, "sample_with", spy)
    found, _ = refined(made, [rows], steps=3)
    # shape: (rows, steps + 1, restarts, labels)
    points = seen[list(refinement.STARTS).index(start)].outputs.unflatten(1, (4, 4))
    if start == "draw":
        assert set(points[:, 0].unique().tolist()) == {0.0, 1.0}
    features = made.frozen_features(made.task_state(rows["features"]))
    for step, row in found[start].iterrows():
        now = points[:, step]
        energy = made.loss_net(features, now).detach()
        each = [slow_f1(now[:, restart], rows["labels"]) for restart in range(4)]
        assert row["f1"] == pytest.approx(sum(each) / 4) and row["energy"] == pytest.approx(float(energy.mean()))
        chosen = torch.stack([now[i, energy[i].argmin()] for i in range(len(now))])
        assert row["f1_least_energy"] == pytest.approx(slow_f1(chosen, rows["labels"]))
    assert (found[start]["f1"] != found[start]["f1_least_energy"]).any()


def test_batches_and_the_limit_on_memory_change_nothing(monkeypatch):
    made, rows = net(), batch(20)
    whole, lines = refined(made, [rows])
    told = []
    monkeypatch.setattr(refinement, "LARGEST", 200)
    parts = [{name: value[part] for name, value in rows.items()} for part in (slice(12), slice(12, None))]
    descent = refinement.Descent(6, 0.2, "adam", 4)
    table, again = refinement.refine(made, parts, descent, told=told.append)
    assert again == pytest.approx(lines) and sum(told) == 3 * 20 and len(told) > 6
    task_net = table[table["start"] == "task_net"]
    for name in ("f1", "energy"):
        assert task_net[name].tolist() == pytest.approx(whole["task_net"][name].tolist())


def test_rows_without_labels_count_as_the_model_says():
    made, rows = net(), batch(4)
    rows["labels"].zero_()
    with torch.no_grad():
        for parameter in made.task_net.parameters():
            parameter.zero_()
        state = made.task_state(rows["features"])
        # Nothing is predicted.
        state.logits -= 1
    made.task_state = lambda features: state
    for empty in (0.0, 1.0):
        _, lines = refinement.refine(made, [rows], refinement.Descent(1, 0.1, "sgd", 1), empty)
        assert lines["task_net_f1"] == 100 * empty


def test_the_figure_ends_its_axis_below_far_random_points(tmp_path):
    rows = [(start, step, 50.0, 50.0, 0.0) for start in ("task_net", "draw", "random") for step in range(3)]
    table = pandas.DataFrame(rows, columns=["start", "step", "f1", "f1_least_energy", "energy"])
    lines = {"task_net_f1": 50.0, "task_net_energy": -1.0, "gold_energy": 1.0}
    limits = []
    panel = SimpleNamespace(set_ylim=lambda low, high: limits.append((low, high)))
    assert refinement._cut(panel, table, lines) == "" and not limits
    for rows, which in ((slice(6, 6), "the first"), (slice(7, 7), "the first"), (slice(6, 8), "all")):
        table.loc[rows, "energy"] = 100.0
        assert refinement._cut(panel, table, lines) == f"{which} steps from random points are above the axis"
    table.loc[6, "energy"] = 0.0
    assert refinement._cut(panel, table, lines).startswith("some steps")
    assert set(limits) == {(-1.2, 2.0)}
    refinement.draw(table, lines, tmp_path / "figure.png", "some rows")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


# The command.


@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if name != "adam"])
def test_every_optimizer_takes_steps(optimizer):
    torch.manual_seed(1)
    found, _ = refined(net(), [batch(4)], steps=2, optimizer=optimizer, restarts=1)
    assert found["random"]["energy"].nunique() == 3


def test_a_trained_model(trained, tmp_path, capsys):
    folder = trained("nce")
    out = tmp_path / "out"
    options = ["--steps", "3", "--restarts", "2", "--batch-size", "128", "--out", str(out)]
    assert refine.main([str(folder), str(VALID), *options]) == 0
    table = pandas.read_csv(out / "refinement.csv")
    assert table["start"].tolist() == ["task_net"] * 4 + ["draw"] * 4 + ["random"] * 4
    reported = json.loads((folder / "metrics.json").read_text())["best_validation_f1"]
    assert table["f1"][0] == pytest.approx(reported)
    assert f"task-net alone: F1 {reported:.2f}" in capsys.readouterr().out
    assert (out / "refinement.png").stat().st_size > 10_000
    # The archive is the same model, and the same seed draws the same.
    before = (out / "refinement.csv").read_bytes()
    assert refine.main([str(folder / "model.tar.gz"), str(VALID), *options]) == 0
    assert (out / "refinement.csv").read_bytes() == before

    other = tmp_path / "other.arff"
    other.write_text("@relation x\n@attribute a numeric\n@data\n1\n")
    capsys.readouterr()
    assert refine.main([str(folder), str(other), *options]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and message.count("\n") == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a folder in which nothing can be made")
def test_a_folder_that_cannot_be_made_is_told_before_the_steps(trained, monkeypatch, capsys):
    monkeypatch.setattr("scripts.measure.refinement.refine", None)
    assert refine.main([str(trained("nce")), str(VALID), "--out", "/proc/results"]) == 2
    assert "error: --out: /proc/results cannot be written to (" in capsys.readouterr().err


def test_a_model_without_loss_net(trained, capsys):
    folder = trained("cross_entropy")
    assert refine.main([str(folder), str(VALID)]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith("error: ") and "without a loss-net" in message


def test_a_model_without_task_net_or_of_another_kind(tmp_path, monkeypatch, capsys):
    made = model(0, **seal_parts())
    made.task_net = None
    of_texts = TextMultilabelModel.__new__(TextMultilabelModel)
    for something, word in (
        (made, "without a task-net"),
        (torch.nn.Linear(1, 1), "is a Linear"),
        (of_texts, "is a TextMultilabelModel; this script refines multi-label models of features"),
    ):
        monkeypatch.setattr("allennlp.models.load_archive", lambda *_, **__: SimpleNamespace(model=something))
        shutil.copy(VALID, tmp_path / "model.tar.gz")
        assert refine.main([str(tmp_path / "model.tar.gz"), str(VALID)]) == 2
        assert word in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["nowhere", str(VALID)], "there is no nowhere"),
        ([str(ROOT / "data"), "nowhere.arff"], "there is no nowhere.arff"),
        ([str(ROOT / "data"), str(VALID)], "not a folder that"),
        ([str(VALID), str(VALID)], "not a model archive"),
        (["m", "d", "--steps", "0"], "--steps"),
        (["m", "d", "--out", __file__], "is a file, not a folder"),
        (["m", "d", "--batch-size", "0"], "--batch-size"),
        (["m", "d", "--step-size", "-1"], "--step-size"),
        (["m", "d", "--optimizer", "lbfgs"], "--optimizer must be one of sgd, adam, "),
    ],
)
def test_mistakes_end_in_a_sentence(arguments, word, capsys):
    assert refine.main(arguments) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ") and word in message and message.count("\n") == 1
