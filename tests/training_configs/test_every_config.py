"""Every file under training_configs trains a step and predicts: on little data, with a tiny transformer."""

import glob
import shutil
from pathlib import Path

import pytest
import torch
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.predictors import Predictor

from seal.common.bio import first_illegal
from seal.common.tag_encodings import first_broken
from tests.tiny_bert import save_tiny_bert

ROOT = Path(__file__).parents[2]
CONFIGS = sorted(glob.glob(str(ROOT / "training_configs" / "**" / "*.jsonnet"), recursive=True))
FIXTURE = ROOT / "tests" / "fixtures" / "srl" / "kitchen.gold_conll"
SAMPLE = ROOT / "data" / "multilabel_sample"
TAGGED = ROOT / "data" / "tagging_sample" / "train.tsv"


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    words = FIXTURE.read_text(encoding="utf-8").split()
    return save_tiny_bert(tmp_path_factory.mktemp("tiny_bert"), words)


@pytest.fixture(scope="module")
def few_rows(tmp_path_factory):
    """The first rows of the multi-label sample, with its XML."""
    folder = tmp_path_factory.mktemp("few_rows")
    head, rows = (SAMPLE / "train.arff").read_text(encoding="utf-8").split("@data\n")
    few = "".join(rows.splitlines(keepends=True)[:40])
    (folder / "data.arff").write_text(f"{head}@data\n{few}", encoding="utf-8")
    shutil.copy(SAMPLE / "labels.xml", folder)
    return folder


@pytest.fixture(scope="module")
def few_sentences(tmp_path_factory):
    """The first sentences of the tagging sample: words and tags, as in the data sets with two columns."""
    rows = [line.split("\t") for line in TAGGED.read_text(encoding="utf-8").splitlines()[:200]]
    path = tmp_path_factory.mktemp("few_sentences") / "data.tsv"
    path.write_text("".join("\t".join(row[::2]) + "\n" for row in rows), encoding="utf-8")
    return path


def shrink(params, data, model_name=None):
    """The config on little data with a transformer of no size, an epoch a phase: everything else as it stands."""
    if isinstance(params, list):
        for value in params:
            shrink(value, data, model_name)
    elif isinstance(params, dict):
        for key, value in params.items():
            if key == "model_name":
                params[key] = model_name
            elif key in ("train_data_path", "validation_data_path"):
                params[key] = str(data)
            else:
                shrink(value, data, model_name)
    return params


def few_epochs(trainer):
    """An epoch for each phase, and one for the rest."""
    phases = trainer.get("phases", [{}])
    for phase in phases:
        if "epochs" in phase:
            phase["epochs"] = 1
    trainer["num_epochs"] = len(phases)


def test_there_are_configs():
    assert len(CONFIGS) >= 126
    # Each is of one kind.
    assert all(is_multilabel(path) + is_tagging(path) + is_srl(path) == 1 for path in CONFIGS)


def is_multilabel(config):
    return "multilabel.libsonnet" in Path(config).read_text(encoding="utf-8")


def is_tagging(config):
    return "tagging.libsonnet" in Path(config).read_text(encoding="utf-8")


def is_srl(config):
    return "srl.libsonnet" in Path(config).read_text(encoding="utf-8")


def name(path):
    return str(Path(path).relative_to(ROOT / "training_configs"))


def trained(config, params, folder):
    few_epochs(params["trainer"])
    model = train_model(Params(params), str(folder))
    assert all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())
    return model.get_metrics()


@pytest.mark.parametrize("config", [path for path in CONFIGS if is_srl(path)], ids=name)
def test_an_srl_config_trains_a_step_and_predicts(config, tiny_bert, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    params = shrink(Params.from_file(config).as_dict(quiet=True), FIXTURE, str(tiny_bert))
    assert set(trained(config, params, tmp_path / "run")) >= {"f1", "ucr"}
    predictor = Predictor.from_path(tmp_path / "run")
    record = predictor.predict_json({"words": ["The", "cook", "cut", "bread", "."], "predicates": [2]})
    (frame,) = record["frames"]
    assert frame["index"] == 2 and len(frame["tags"]) == 5 and first_illegal(frame["tags"]) is None
    assert 0 < frame["probability"] <= 1


@pytest.mark.parametrize("config", [path for path in CONFIGS if is_multilabel(path)], ids=name)
def test_a_multilabel_config_trains_a_step_and_is_evaluated(config, few_rows, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    params = shrink(Params.from_file(config).as_dict(quiet=True), few_rows / "data.arff")
    # The data set's own paths and reading are for its own files.
    params["dataset_reader"] = {"type": "seal_multilabel", "label_xml": str(few_rows / "labels.xml")}
    trained(config, params, tmp_path / "run")
    metrics = evaluate_from_archive(tmp_path / "run" / "model.tar.gz", str(few_rows / "data.arff"))
    assert set(metrics) >= {"f1", "f1_tuned", "f1_per_label", "mean_average_precision"}
    # Tuned on the very rows that are scored.
    assert 0 <= metrics["f1"] <= metrics["f1_tuned"] <= 100


@pytest.mark.parametrize("config", [path for path in CONFIGS if is_tagging(path)], ids=name)
def test_a_tagging_config_trains_a_step_and_predicts(config, few_sentences, tiny_bert, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    params = shrink(Params.from_file(config).as_dict(quiet=True), few_sentences, str(tiny_bert))
    encoding = params["model"]["output_space"]["encoding"]
    metrics = trained(config, params, tmp_path / "run")
    assert "accuracy" in metrics and ("f1" in metrics) == (encoding is not None)
    record = Predictor.from_path(tmp_path / "run").predict_json({"words": ["Rose", "sells", "ginger"]})
    assert len(record["tags"]) == 3 and 0 < record["probability"] <= 1
    assert encoding is None or first_broken(record["tags"], encoding) is None
