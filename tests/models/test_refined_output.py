"""A trained model's output refined by gradient-based inference: an override of the archive's config."""

import json
import sys
from pathlib import Path

import pytest
import torch
from allennlp.commands import main
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

from seal.tasks.base.tensor_loader import TensorLoader
from tests.multilabel import write_data

CONFIG = Path(__file__).parents[2] / "training_configs" / "multilabel_implicit_cd.jsonnet"
DESCENT = {
    "type": "gradient_based_inference",
    "start": "task_net",
    "num_steps": 7,
    "step_size": 0.05,
    "keep": "best",
}
REFINED = {"model.inference": DESCENT}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refined")
    data = write_data(folder)
    params = Params.from_file(str(CONFIG)).as_dict(quiet=True)
    params["dataset_reader"] = {"type": "seal_multilabel", **data["reader"]}
    params["train_data_path"] = params["validation_data_path"] = data["path"]
    params["trainer"]["num_epochs"] = 2
    train_model(Params(params), str(folder / "run"))
    return folder / "run" / "model.tar.gz", data["path"]


def outputs(archive, data, overrides=""):
    loaded = load_archive(str(archive), overrides=overrides)
    loader = TensorLoader(loaded.validation_dataset_reader, str(data), batch_size=100)
    loader.index_with(loaded.model.vocab)
    (batch,) = loader
    model = loaded.model.eval()
    with torch.no_grad():
        return model, batch, model(**batch)["probabilities"]


def refined_by_hand(model, batch, plain):
    """Projected steps from `plain`: the point of least energy, and in which rows it is below that of `plain`."""
    features = model.frozen_features(model.task_state(**batch))

    def energy(point):
        return model.loss_net(features, point.unsqueeze(1)).squeeze(1)

    point, best = plain.clone(), plain.clone()
    first = least = energy(point).detach()
    for _ in range(DESCENT["num_steps"]):
        point.requires_grad_(True)
        (slope,) = torch.autograd.grad(energy(point).sum(), point)
        point = (point - DESCENT["step_size"] * slope).clamp(0, 1).detach()
        value = energy(point).detach()
        best[value < least], least = point[value < least], torch.minimum(value, least)
    return best, least < first


@pytest.mark.parametrize("overrides", [REFINED, json.dumps(REFINED)], ids=["dict", "text"])
def test_the_descent_starts_at_the_task_nets_output(trained, overrides):
    _, _, plain = outputs(*trained)
    model, batch, refined = outputs(*trained, overrides)
    best, lower = refined_by_hand(model, batch, plain)
    assert torch.allclose(refined, best, atol=1e-5)
    assert lower.any() and not torch.allclose(refined, plain, atol=1e-3)


def test_no_step_to_speak_of_changes_nothing(trained):
    still = {"model.inference": {**DESCENT, "step_size": 1e-12}}
    assert torch.allclose(outputs(*trained)[2], outputs(*trained, still)[2], atol=1e-6)


def test_the_commands_take_it(trained, tmp_path, monkeypatch, capsys):
    archive, data = map(str, trained)
    scores = []
    for number, more in enumerate(([], ["--overrides", json.dumps(REFINED)])):
        out = tmp_path / f"{number}.json"
        arguments = ["evaluate", archive, data, "--output-file", str(out), "--include-package", "seal", *more]
        monkeypatch.setattr(sys, "argv", ["allennlp", *arguments])
        main()
        scores.append(json.loads(out.read_text(encoding="utf-8")))
    plain = outputs(*trained)[2]
    model, batch, _ = outputs(*trained, REFINED)
    expected = [scores_by_hand(found, batch["labels"]) for found in (plain, refined_by_hand(model, batch, plain)[0])]
    for found, (f1, average_precision) in zip(scores, expected):
        assert found["f1"] == pytest.approx(f1)
        assert found["mean_average_precision"] == pytest.approx(average_precision)
    # On these rows the descent changes both.
    assert all(abs(before - after) > 1 for before, after in zip(*expected))


def scores_by_hand(probabilities, gold):
    """The means over rows of F1 and of average precision, in percent; no two probabilities of a row are equal."""
    f1, precision = [], []
    for row, right in zip(probabilities.tolist(), gold.tolist()):
        true = {label for label, value in enumerate(right) if value}
        found = {label for label, value in enumerate(row) if value >= 0.5}
        f1.append(2 * len(found & true) / (len(found) + len(true)))
        ranked = sorted(range(len(row)), key=lambda label: -row[label])
        ranks = sorted(ranked.index(label) + 1 for label in true)
        precision.append(sum(number / rank for number, rank in enumerate(ranks, start=1)) / len(ranks))
    return [100 * sum(values) / len(values) for values in (f1, precision)]
