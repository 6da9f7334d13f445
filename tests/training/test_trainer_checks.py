import json
from pathlib import Path
from types import SimpleNamespace

import _jsonnet
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.text_multilabel import TextMultilabelReader
from seal.training.trainer_checks import check_max_tokens, check_validation_metric
from tests.models.test_text_multilabel import ENCODER, batch, model
from tests.multilabel import model as feature_model
from tests.tiny_bert import save_tiny_bert


@pytest.mark.parametrize("metric", ["-loss", ["+f1", "-loss"]])
def test_predictions_of_the_energy_have_no_loss(metric):
    check_validation_metric(SimpleNamespace(inference=None), metric)
    with pytest.raises(ConfigurationError, match="trainer.validation_metric: predictions of model.inference"):
        check_validation_metric(SimpleNamespace(inference=object()), metric)


def test_other_metrics():
    check_validation_metric(SimpleNamespace(inference=object()), "+f1")
    check_validation_metric(SimpleNamespace(inference=object()), ["+f1", "-hamming_loss"])


@pytest.mark.parametrize(
    "metric, told",
    [
        ("+loss", "less of 'loss' is better; write '-loss'."),
        ("+ucr", "less of 'ucr' is better; write '-ucr'."),
        ("+duplicates", "less of 'duplicates' is better"),
        ("-f1", "more of 'f1' is better; write '+f1'."),
        (["+f1", "-micro_f1_tuned"], "more of 'micro_f1_tuned' is better; write '+micro_f1_tuned'."),
        ("-f1-PER", "more of 'f1-PER' is better"),
        ("-mean_iou", "more of 'mean_iou' is better"),
    ],
)
def test_a_direction_that_would_keep_the_worst_epoch(metric, told):
    with pytest.raises(ConfigurationError) as error:
        check_validation_metric(SimpleNamespace(inference=None), metric)
    assert error.value.message.startswith(f"trainer.validation_metric: {told}")


def test_a_metric_without_a_direction():
    with pytest.raises(ConfigurationError, match=r"^trainer.validation_metric: '\+f1' where more is better, or '-f1'"):
        check_validation_metric(SimpleNamespace(inference=None), ["-loss", "f1"])


def loader_of(max_tokens):
    return SimpleNamespace(reader=TextMultilabelReader(max_tokens=max_tokens))


def test_texts_that_the_transformer_may_not_take(tmp_path):
    folder = str(save_tiny_bert(tmp_path / "bert", ["kite"]))
    transformer, vocab = {"type": "text_transformer", "model_name": folder}, batch()[0]
    net = model(vocab, task_net={"encoder": transformer})
    for max_tokens in (None, 512):
        check_max_tokens(net, loader_of(max_tokens), "dataset_reader")
    message = "^validation_dataset_reader.max_tokens: 513 pieces, and the transformer takes 512; set it to 512 or less"
    with pytest.raises(ConfigurationError, match=message):
        check_max_tokens(net, loader_of(513), "validation_dataset_reader")
    # Neither an encoder of words nor another task has a limit.
    for other in (model(vocab, task_net={"encoder": ENCODER}), feature_model()):
        check_max_tokens(other, loader_of(513), "dataset_reader")
    check_max_tokens(net, SimpleNamespace(), "dataset_reader")


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
    with pytest.raises(ConfigurationError, match=f"^{reader}.max_tokens: 600 pieces, and the transformer takes 512"):
        train_model(Params(json.loads(_jsonnet.evaluate_snippet("test", source))), str(tmp_path / "run"))
