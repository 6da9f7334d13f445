"""A trained model's output refined by gradient-based inference: an override of the archive's config."""

from pathlib import Path

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import load_archive

from seal.tasks.base.tensor_loader import TensorLoader
from tests.multilabel import write_data

CONFIG = Path(__file__).parents[3] / "training_configs" / "multilabel_implicit_cd.jsonnet"
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


def test_the_descent_starts_at_the_task_nets_output(trained):
    _, _, plain = outputs(*trained)
    model, batch, refined = outputs(*trained, REFINED)
    best, lower = refined_by_hand(model, batch, plain)
    assert torch.allclose(refined, best, atol=1e-5)
    assert lower.any() and not torch.allclose(refined, plain, atol=1e-3)
