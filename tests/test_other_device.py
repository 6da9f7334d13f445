"""
Training, scoring and predicting on a device other than the CPU (`other_device.py`), without mixing the two.
"""

from contextlib import nullcontext
from pathlib import Path

import allennlp.nn.util
import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.predictors import Predictor
from allennlp.training import trainer

import seal.plugin  # noqa: F401
from tests.few_epochs import few_epochs
from tests.other_device import DEVICE, Remote, other_device

ROOT = Path(__file__).parents[1]
#: At least one config of each task; together they have every kind of sampler and both trainers.
CONFIGS = {
    "multilabel_dvn": {"features": ["tofu"]},
    "multilabel_implicit_cd": {"features": ["tofu"]},
    "multilabel_regression_s": {"features": ["tofu"]},
    "tagging_compound_stacked": {"words": ["Rose", "sells", "ginger"]},
    "text_nce": {"text": "Rats!"},
    "parsing_structured": {"words": ["Rose", "sells", "ginger"]},
    "srl_structured": {"words": ["Rose", "sells", "ginger"], "predicates": [1]},
    "multilabel_structured": {"features": ["tofu"]},
    "shapes_nce": {"images": "data/shapes_sample/test.npz", "row": 0},
}


class NoAutocast(nullcontext):
    def __init__(self, *arguments, **options):
        super().__init__()


@pytest.fixture
def device(monkeypatch):
    """The other device, as number 0 of AllenNLP's GPUs."""

    def named(number):
        return number if isinstance(number, torch.device) else DEVICE if number >= 0 else torch.device("cpu")

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.nn.Module, "cuda", lambda module, number=None: module.to(DEVICE))
    for module in (trainer, allennlp.nn.util):
        monkeypatch.setattr(module, "int_to_device", named)
    # These functions ask for a GPU by name.
    monkeypatch.setattr(allennlp.nn.util, "device_mapping", lambda number: "cpu")
    monkeypatch.setattr(allennlp.nn.util, "get_device_of", lambda tensor: 0 if isinstance(tensor, Remote) else -1)
    monkeypatch.setattr(
        allennlp.nn.util,
        "get_range_vector",
        lambda size, number: torch.arange(size, device=DEVICE if number >= 0 else "cpu"),
    )
    # PyTorch's autocast knows no device of this name.
    monkeypatch.setattr(torch, "autocast", NoAutocast)
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *_: False)
    with other_device() as device:
        yield device


# In spite of this warning the parameters are copied.
@pytest.mark.filterwarnings("ignore:.*copying from a non-meta parameter:UserWarning")
@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_a_config_trains_and_predicts(config, device, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    params = Params.from_file(f"training_configs/{config}.jsonnet").as_dict(quiet=True)
    few_epochs(params["trainer"])
    params["dataset_reader"]["max_instances"] = 24
    if "folds" in params["trainer"]:  # Everything is slow on this device.
        params["trainer"]["folds"] = 2
        params["dataset_reader"]["max_instances"] = 12
    if "crops_per_side" in params["model"]:
        params["model"]["crops_per_side"] = 2
    model = train_model(Params(params), str(tmp_path))
    assert {parameter.device for parameter in model.parameters()} == {DEVICE}
    predictor = Predictor.from_path(tmp_path, cuda_device=0)
    assert {parameter.device for parameter in predictor._model.parameters()} == {DEVICE}
    assert "error" not in predictor.predict_json(CONFIGS[config])
    structure = getattr(predictor._model, "structure", None)
    if structure is not None:
        # Whatever the gate says.
        structure.chosen = {score: follow(option) for score, option in structure.chosen.items()}
        assert "error" not in predictor.predict_json(CONFIGS[config])


def follow(option):
    return "likeliest" if isinstance(option, str) else {**option, "option": "likeliest"}


def test_what_mixes_devices_is_refused(device):
    there, here = torch.ones(2, device=device), torch.ones(2)
    for mixed in (lambda: there + here, lambda: torch.where(there > 0, there, here), lambda: here[there.long()]):
        with pytest.raises(RuntimeError, match="same device"):
            mixed()
    with pytest.raises(TypeError, match="numpy"):
        there.numpy()
    assert (there + 1).tolist() == [2, 2] and there.cpu().numpy().sum() == 2
    assert there[torch.tensor([1])].device == device
