import json

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive

from seal.metrics import best_micro_threshold
from tests.multilabel import ROWS, TASK_NET, run_settings, write_data
from tests.spine import srl_model


def params_of(data, **trainer):
    defaults = {"num_epochs": 3, "validation_metric": "+f1_tuned", "callbacks": ["tune_thresholds"]}
    loader = {"batch_size": 2, "shuffle": True}
    return Params(run_settings(data, {"task_net": TASK_NET}, loader, **{**defaults, **trainer}))


def test_the_best_epochs_thresholds_are_the_models(tmp_path):
    data = write_data(tmp_path)
    model = train_model(params_of(data), str(tmp_path / "run"))
    assert model.is_tuned and model.tuned_metric is None
    best = json.loads((tmp_path / "run" / "metrics.json").read_text())
    epochs = [
        json.loads((tmp_path / "run" / f"metrics_epoch_{i}.json").read_text())["validation_f1_tuned"] for i in range(3)
    ]
    assert best["best_validation_f1_tuned"] == max(epochs)
    archive = load_archive(tmp_path / "run" / "model.tar.gz")
    assert archive.model.tuned_threshold == model.tuned_threshold != 0.5
    # Scoring other data moves none of them.
    other = write_data(tmp_path, ROWS[:2], "other.arff")
    evaluate_from_archive(tmp_path / "run" / "model.tar.gz", other["path"])
    metrics = evaluate_from_archive(tmp_path / "run" / "model.tar.gz", data["path"])
    assert metrics["f1_tuned"] == pytest.approx(best["best_validation_f1_tuned"])


def test_the_metric_to_tune_for(tmp_path):
    data = write_data(tmp_path)
    callback = {"type": "tune_thresholds", "metric": "micro_f1"}
    model = train_model(params_of(data, callbacks=[callback]), str(tmp_path / "run"))
    probabilities, gold = model._score.last_pass()
    assert model.tuned_threshold == best_micro_threshold(probabilities, gold)
    message = "'tune_thresholds' has the metric 'macro_f1'; choose from f1, micro_f1"
    with pytest.raises(ConfigurationError, match=message):
        train_model(params_of(data, callbacks=[{**callback, "metric": "macro_f1"}]), str(tmp_path / "other"))


def test_without_it_nothing_is_tuned(tmp_path):
    data = write_data(tmp_path)
    model = train_model(params_of(data, callbacks=[], validation_metric="+f1"), str(tmp_path / "run"))
    assert not model.is_tuned
    assert "best_validation_f1_tuned" not in json.loads((tmp_path / "run" / "metrics.json").read_text())


def test_there_is_nothing_to_tune_on(tmp_path):
    params = params_of(write_data(tmp_path), validation_metric="-loss")
    del params.params["validation_data_path"]
    with pytest.raises(ConfigurationError, match="'tune_thresholds' tunes them on validation data; give validation_da"):
        train_model(params, str(tmp_path / "run"))


def test_another_model_is_refused():
    from seal.training.tune_thresholds import TuneThresholds

    class FakeTrainer:
        model = srl_model()

    message = "'tune_thresholds' is for 'seal_multilabel' and 'seal_text_multilabel', not SrlModel"
    with pytest.raises(ConfigurationError, match=message):
        TuneThresholds(None).on_start(FakeTrainer())
