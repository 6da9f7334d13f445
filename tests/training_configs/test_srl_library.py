"""What `training_configs/lib/srl.libsonnet` offers beyond the configs that use it."""

import json
from pathlib import Path

import _jsonnet
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

import seal.plugin  # noqa: F401

LIBRARY = Path(__file__).parents[2] / "training_configs" / "lib" / "srl.libsonnet"
TRAIN = {"words": ["Rose", "sells", "ginger"], "frames": [{"pred": 1, "tags": ["B-ARG0", "B-V", "B-ARG1"]}]}
DEV = {"words": ["Rose", "Ray", "sells", "it"], "frames": [{"pred": 2, "tags": ["B-ARG0", "I-ARG0", "B-V", "B-ARG1"]}]}


def train(folder, data):
    for name, sentence in (("train", TRAIN), ("dev", DEV)):
        (folder / f"{name}.jsonl").write_text(json.dumps(sentence) + "\n")
    source = f"""
    local srl = import '{LIBRARY.as_posix()}';
    srl.experiment(
      {{ train: '{folder}/train.jsonl', dev: '{folder}/dev.jsonl', {data} }},
      srl.encoder.bilstm(word_dim=3, hidden=4), srl.method.nce(num_samples=2), srl.training.default {{ epochs: 1 }},
      srl.energies(hidden_dim=4)
    )"""
    settings = json.loads(_jsonnet.evaluate_snippet("test", source))
    settings["trainer"]["enable_default_callbacks"] = False
    return train_model(Params(settings), str(folder / "run"))


def test_a_tag_of_dev_alone_is_scored_where_the_data_name_it(tmp_path):
    model = train(tmp_path, "tags: ['I-ARG0']")
    assert "I-ARG0" in model.vocab.get_token_to_index_vocabulary("srl_tags")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert 0 <= metrics["best_validation_f1"] <= 100


def test_a_tag_of_dev_alone_that_nobody_names(tmp_path):
    model = train(tmp_path, "")
    assert "I-ARG0" not in model.vocab.get_token_to_index_vocabulary("srl_tags")
    log = (tmp_path / "run" / "out.log").read_text()
    assert "dev.jsonl:1: 'I-ARG0'" in log and "count as missed" in log
    # Nothing is learned from it.
    with pytest.raises(ConfigurationError, match="dev.jsonl:1.*'I-ARG0'"):
        model.train().task_state(tokens={}, predicate=None, metadata=[{"tags": ["I-ARG0"], "source": "dev.jsonl:1"}])
