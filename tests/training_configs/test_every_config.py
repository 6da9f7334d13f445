"""Every file under training_configs trains a step and predicts: on the fixture's data, with a tiny transformer."""

import glob
from pathlib import Path

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.predictors import Predictor

from seal.common.bio import first_illegal
from tests.tiny_bert import save_tiny_bert

ROOT = Path(__file__).parents[2]
CONFIGS = sorted(glob.glob(str(ROOT / "training_configs" / "**" / "*.jsonnet"), recursive=True))
FIXTURE = ROOT / "tests" / "fixtures" / "srl" / "kitchen.gold_conll"


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    words = FIXTURE.read_text(encoding="utf-8").split()
    return save_tiny_bert(tmp_path_factory.mktemp("tiny_bert"), words)


def shrink(params, model_name):
    """The config on the fixture's data with a transformer of no size, for one epoch: everything else as it stands."""
    if isinstance(params, dict):
        for key, value in params.items():
            if key == "model_name":
                params[key] = model_name
            elif key in ("train_data_path", "validation_data_path"):
                params[key] = str(FIXTURE)
            elif key == "num_epochs":
                params[key] = 1
            else:
                shrink(value, model_name)
    elif isinstance(params, list):
        for value in params:
            shrink(value, model_name)


def test_there_are_configs():
    assert len(CONFIGS) >= 11


@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: str(Path(path).relative_to(ROOT / "training_configs")))
def test_a_config_trains_a_step_and_predicts(config, tiny_bert, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    params = Params.from_file(config).as_dict(quiet=True)
    shrink(params, str(tiny_bert))
    model = train_model(Params(params), str(tmp_path / "run"))
    assert all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())
    metrics = model.get_metrics()
    assert set(metrics) >= {"f1", "ucr"}
    predictor = Predictor.from_path(tmp_path / "run")
    record = predictor.predict_json({"words": ["The", "cook", "cut", "bread", "."], "predicates": [2]})
    (frame,) = record["frames"]
    assert frame["index"] == 2 and len(frame["tags"]) == 5 and first_illegal(frame["tags"]) is None
    assert 0 < frame["probability"] <= 1
