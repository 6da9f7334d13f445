"""Texts that are too long for a transformer are refused before anything is trained."""

import json
from pathlib import Path
from types import SimpleNamespace

import _jsonnet
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.tasks.text.reader import TextMultilabelReader
from seal.training.loaders import check_loaders
from tests.multilabel import model as feature_model
from tests.tasks.text.test_model import ENCODER, batch, model
from tests.tiny_bert import save_tiny_bert


def loader_of(max_tokens):
    return SimpleNamespace(reader=TextMultilabelReader(max_tokens=max_tokens))


def test_texts_that_the_transformer_may_not_take(tmp_path):
    folder = str(save_tiny_bert(tmp_path / "bert", ["kite"]))
    transformer, vocab = {"type": "text_transformer", "model_name": folder}, batch()[0]
    net = model(vocab, task_net={"encoder": transformer})
    for max_tokens in (None, 512):
        check_loaders(net, loader_of(max_tokens), loader_of(max_tokens))
    with pytest.raises(ConfigurationError, match="validation_dataset_reader.max_tokens: 513 .*512"):
        check_loaders(net, loader_of(512), loader_of(513))
    # Neither an encoder of words nor another task has a limit.
    for other in (model(vocab, task_net={"encoder": ENCODER}), feature_model()):
        check_loaders(other, loader_of(513), None)
    check_loaders(net, SimpleNamespace(), None)


@pytest.mark.parametrize("reader", ["dataset_reader", "validation_dataset_reader"])
def test_a_run_whose_texts_the_transformer_may_not_take_does_not_start(reader, tmp_path, allennlp_logging):
    folder = str(save_tiny_bert(tmp_path / "bert", ["kite"]))
    (tmp_path / "a.jsonl").write_text('{"text": "kite", "labels": ["toy"]}\n')
    library = Path(__file__).parents[2] / "training_configs" / "lib" / "text.libsonnet"
    source = f"""
    local text = import '{library.as_posix()}';
    local data = {{ train: '{tmp_path}/a.jsonl', dev: self.train, reader: {{}} }};
    local run = text.experiment(data, text.encoder.transformer('{folder}'), text.method.cross_entropy());
    run {{ {reader}: run.dataset_reader {{ max_tokens: 600 }} }}"""
    with pytest.raises(ConfigurationError, match=f"^{reader}.max_tokens: 600"):
        train_model(Params(json.loads(_jsonnet.evaluate_snippet("test", source))), str(tmp_path / "run"))
