"""
Every file under training_configs makes its parts, on little data, with a tiny transformer; and one of each method is
trained, and predicts.
"""

import copy
import glob
import json
import re
import shutil
from pathlib import Path

import _jsonnet
import numpy
import pytest
import torch
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import TrainModel, train_model
from allennlp.common import Params
from allennlp.common.util import prepare_environment
from allennlp.data import DatasetReader
from allennlp.predictors import Predictor
from allennlp.training import TrainerCallback
from nltk import Tree

from seal.allennlp.config_imports import find_import
from seal.common.tag_encodings import first_broken
from seal.nets import LossNet
from seal.tasks.multilabel.reader import MultilabelReader
from tests.few_epochs import few_epochs
from tests.tiny_bert import save_tiny_bert

ROOT = Path(__file__).parents[2]
CONFIGS = sorted(glob.glob(str(ROOT / "training_configs" / "**" / "*.jsonnet"), recursive=True))
FIXTURE = ROOT / "tests" / "fixtures" / "srl" / "kitchen.gold_conll"
UNLABELLED = ROOT / "data" / "srl_sample" / "dev.gold_conll"
SAMPLE = ROOT / "data" / "multilabel_sample"
TAGGED = ROOT / "data" / "tagging_sample" / "train.tsv"
TREES = ROOT / "data" / "trees_sample"
LETTERS = ROOT / "data" / "text_sample"
SHAPES = ROOT / "data" / "shapes_sample" / "train.npz"


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
    """The first sentences of the tagging sample, in the columns that a reader's settings name."""
    # An empty line has an empty word.
    rows = [line.split("\t") if line else ["", ""] for line in TAGGED.read_text(encoding="utf-8").splitlines()[:200]]
    folder = tmp_path_factory.mktemp("few_sentences")

    def written(reader):
        columns = reader.get("columns", ["word", "tag"])
        lines = []
        for word, *_, label in rows:
            if reader.get("encoding") == "IOB1":
                label = label.replace("B-", "I-")
            cells = {"word": word, reader.get("tag_column", "tag"): label}
            lines.append("\t".join(cells.get(name, "X") for name in columns) if word else "")
        path = folder / f"{'_'.join(columns)}.tsv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return written


@pytest.fixture(scope="module")
def few_trees(tmp_path_factory):
    """The first trees of their sample."""
    path = tmp_path_factory.mktemp("few_trees") / "data.mrg"
    trees = (TREES / "train.mrg").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(trees[:10]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def few_texts(tmp_path_factory):
    """The first notes of the text sample."""
    path = tmp_path_factory.mktemp("few_texts") / "data.jsonl"
    lines = (LETTERS / "train.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:40]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def few_images(tmp_path_factory):
    """The first images of the sample of shapes."""
    path = tmp_path_factory.mktemp("few_images") / "data.npz"
    with numpy.load(SHAPES) as arrays:
        numpy.savez(path, **{name: arrays[name][:5] for name in arrays.files})
    return path


def shrink(params, data, model_name=None):
    """The config with little data, a tiny transformer and one epoch a phase; everything else is unchanged."""
    if isinstance(params, list):
        for value in params:
            shrink(value, data, model_name)
    elif isinstance(params, dict):
        for key, value in params.items():
            if key == "model_name":
                params[key] = model_name
            elif key in ("train_data_path", "validation_data_path"):
                params[key] = str(data)
            elif key == "unlabelled":
                params[key] = str(UNLABELLED)
            elif key == "batches_per_epoch":
                params[key] = 2
            elif key == "fraction":
                params[key] = 1.0
            else:
                shrink(value, data, model_name)
    return params


def method_of(config):
    """The library that a config imports, and the method that it names."""
    text = Path(config).read_text(encoding="utf-8")
    library, method = re.search(r"(\w+)[.]libsonnet", text), re.search(r"method(?:_for[.]\w+)?[.](\w+)[(]", text)
    return library[1], method and method[1]


def kind_of(config):
    """The task; citations are tagged words."""
    library, _ = method_of(config)
    return "tagging" if library == "citation_tagging" else library


def test_there_are_configs():
    assert len(CONFIGS) >= 225
    assert set(map(kind_of, CONFIGS)) == {"srl", "tagging", "parsing", "text", "multilabel", "segmentation"}


def name(path):
    return str(Path(path).relative_to(ROOT / "training_configs"))


@TrainerCallback.register("parts_that_move")
class PartsThatMove(TrainerCallback):
    """Finds out which parts of the nets that the last run trained have changed in it: `of_last_run`, by player."""

    of_last_run = None

    def on_start(self, trainer, is_primary=True, **kwargs):
        super().on_start(trainer, is_primary, **kwargs)
        self._before = {name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()}

    def on_end(self, trainer, **kwargs):
        # Before the trainer loads the weights of the best epoch, in which not all players need to have been trained.
        names = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
        PartsThatMove.of_last_run = {}
        for player, optimizer in trainer.optimizer.players.items():
            moved = PartsThatMove.of_last_run[player] = {}
            for parameter in [parameter for group in optimizer.param_groups for parameter in group["params"]]:
                name = names[id(parameter)]
                part = re.match(r"\w+[.](energies[.]\d+|\w+)", name).group()
                moved[part] = moved.get(part, False) or not torch.equal(parameter, self._before[name])


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def values():
    """Of all configs: together, what they import is read once."""
    source = ",\n".join(f"'{path}': import '{path}'" for path in CONFIGS)
    return json.loads(_jsonnet.evaluate_snippet("configs", f"{{\n{source}\n}}", import_callback=find_import))


@pytest.fixture(scope="module")
def prepared(values, tiny_bert, few_rows, few_sentences, few_texts, few_images, few_trees):
    """The settings of a config, on little data."""

    def settings(config):
        params = copy.deepcopy(values[config])
        reader, kind = params["dataset_reader"], kind_of(config)
        if kind == "srl":
            shrink(params, FIXTURE, str(tiny_bert))
        elif kind == "multilabel":
            shrink(params, few_rows / "data.arff")
            # The data set's own paths and reading are for its own files; but it must be a reader that there is.
            assert isinstance(DatasetReader.from_params(Params(reader)), MultilabelReader)
            params["dataset_reader"] = {"type": "seal_multilabel", "label_xml": str(few_rows / "labels.xml")}
        elif kind == "tagging":
            shrink(params, few_sentences(reader), str(tiny_bert))
            if "labelled" in reader:
                # Few sentences keep their tags, so the config names them all; here they are the sample's.
                rows = TAGGED.read_text(encoding="utf-8").splitlines()
                params["vocabulary"]["tokens_to_add"]["tags"] += sorted({row.split("\t")[-1] for row in rows if row})
        elif kind == "text":
            shrink(params, few_texts, str(tiny_bert))
            # The data set's own reading is for its own files.
            for option in ("labels", "text_keys"):
                reader.pop(option, None)
            reader.update(taxonomy=str(LETTERS / "taxonomy.tsv"), ancestors=True)
        elif kind == "parsing":
            shrink(params, few_trees)
        else:
            shrink(params, few_images)
            # All crops of an image take as long as 36 images.
            params["model"]["crops_per_side"] = 2
        return params

    return settings


def first_of_each_method():
    """Those of the samples, where these have the method."""
    found = {}
    for config in sorted(CONFIGS, key=lambda path: Path(path).parent.name != "training_configs"):
        found.setdefault(method_of(config), config)
    return set(found.values())


TRAINED = first_of_each_method()


def cases(kind):
    """The configs of a kind that are trained."""
    return [pytest.param(path, id=name(path)) for path in sorted(TRAINED) if kind_of(path) == kind]


@pytest.mark.parametrize("config", [path for path in CONFIGS if path not in TRAINED], ids=name)
def test_a_config_makes_its_parts(config, prepared, tmp_path):
    """Reader, model and trainer, up to the first step."""
    params = Params(prepared(config))
    players = {"task_net", "loss_net"} & params["trainer"].keys()
    prepare_environment(params)
    made = TrainModel.from_params(params, serialization_dir=str(tmp_path), local_rank=0)
    assert set(made.trainer.optimizer.players) == players
    assert ("loss_net" in players) == has_loss_net(config) == (made.model.loss_net is not None)


def trained(config, params, folder, monkeypatch):
    """
    The model's metrics, and a check that the run has trained what the config's name and settings say. Afterwards only
    a model whose inference needs a loss-net can call one: a task-net predicts alone.
    """
    few_epochs(params["trainer"])
    params["trainer"].setdefault("callbacks", []).append("parts_that_move")
    # Training uses the settings up.
    wanted = copy.deepcopy({"model": params["model"], "trainer": params["trainer"]})
    model = train_model(Params(params), str(folder))
    assert all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())
    moved = PartsThatMove.of_last_run
    assert moved.keys() == {"task_net", "loss_net"} & wanted["trainer"].keys()
    assert all(parts and all(parts.values()) for parts in moved.values()), moved
    told = {}
    for path in folder.glob("metrics_epoch_*.json"):
        told.update(json.loads(path.read_text(encoding="utf-8")))
    # Weight decay moves a net without a gradient, too.
    assert all(told[f"training_grad_norm_{player}"] > 0 for player in moved)
    assert ("loss_net" in moved) == has_loss_net(config) == ("training_loss_net_loss" in told)
    assert ("training_energy_prediction" in told) == learns_from_energy(**wanted)
    if wanted["model"].get("inference") is None:
        for method in ("encode", "forward"):
            monkeypatch.setattr(LossNet, method, not_at_prediction)
    return model.get_metrics()


def not_at_prediction(*args, **kwargs):
    raise AssertionError("The loss-net is called at prediction.")


def has_loss_net(config):
    """By its name: all but the task-nets that are trained on their own, with or without an energy inside."""
    alone = ("cross_entropy", "seq2seq", "crf", "distilled", "self_training", "spen_end_to_end", "structured")
    more = ("structured_tuning", "task_net_ranking")
    return not re.search(f"(^|_)({'|'.join(alone + more)})([.]|_)", Path(config).name)


def learns_from_energy(model, trainer):
    """Whether the loss-net trains the task-net in some phase."""
    if not {"task_net", "loss_net"} <= trainer.keys() or model.get("task_loss", {}).get("energy_weight") == 0:
        return False
    return any(
        phase.get("energy", True) and phase.get("train", "task_net") == "task_net"
        for phase in trainer.get("phases", [{}])
    )


@pytest.mark.slow
@pytest.mark.parametrize("config", cases("srl"))
def test_an_srl_config_trains_a_step_and_predicts(config, prepared, tmp_path, monkeypatch):
    assert set(trained(config, prepared(config), tmp_path / "run", monkeypatch)) >= {"f1", "ucr"}
    predictor = Predictor.from_path(tmp_path / "run")
    record = predictor.predict_json({"words": ["The", "cook", "cut", "bread", "."], "predicates": [2]})
    (frame,) = record["frames"]
    assert frame["index"] == 2 and len(frame["tags"]) == 5 and first_broken(frame["tags"], "BIO") is None
    assert 0 < frame["probability"] <= 1


@pytest.mark.slow
@pytest.mark.parametrize("config", cases("multilabel"))
def test_a_multilabel_config_trains_a_step_and_is_evaluated(config, prepared, few_rows, tmp_path, monkeypatch):
    trained(config, prepared(config), tmp_path / "run", monkeypatch)
    metrics = evaluate_from_archive(tmp_path / "run" / "model.tar.gz", str(few_rows / "data.arff"))
    assert set(metrics) >= {"f1", "f1_tuned", "f1_per_label", "mean_average_precision"}
    # Tuned on the very rows that are scored.
    assert 0 <= metrics.get("f1_half", metrics["f1"]) <= metrics["f1_tuned"] <= 100


@pytest.mark.slow
@pytest.mark.parametrize("config", cases("tagging"))
def test_a_tagging_config_trains_a_step_and_predicts(config, prepared, tmp_path, monkeypatch):
    params = prepared(config)
    encoding = params["model"]["output_space"]["encoding"]
    asked = {"words": ["Rose", "sells", "ginger"]}
    if "feature_columns" in params["dataset_reader"]:
        asked["features"] = {name: ["X"] * 3 for name in params["dataset_reader"]["feature_columns"]}
    metrics = trained(config, params, tmp_path / "run", monkeypatch)
    assert {"accuracy", "f1"} <= set(metrics)
    record = Predictor.from_path(tmp_path / "run").predict_json(asked)
    assert len(record["tags"]) == 3 and 0 < record["probability"] <= 1
    assert encoding is None or first_broken(record["tags"], encoding) is None


@pytest.mark.slow
@pytest.mark.parametrize("config", cases("parsing"))
def test_a_parsing_config_trains_a_step_and_predicts(config, prepared, tmp_path, monkeypatch):
    metrics = trained(config, prepared(config), tmp_path / "run", monkeypatch)
    assert set(metrics) >= {"f1", "exact_match", "step_accuracy"}
    record = Predictor.from_path(tmp_path / "run").predict_json({"sentence": "The cook cut bread."})
    assert Tree.fromstring(record["tree"]).leaves() == ["The", "cook", "cut", "bread", "."]


@pytest.mark.slow
@pytest.mark.parametrize("config", cases("text"))
def test_a_text_config_trains_a_step_and_predicts(config, prepared, few_texts, tmp_path, monkeypatch):
    trained(config, prepared(config), tmp_path / "run", monkeypatch)
    metrics = evaluate_from_archive(tmp_path / "run" / "model.tar.gz", f"{few_texts}#valid")
    assert set(metrics) >= {"micro_f1", "macro_f1", "micro_f1_tuned"}
    predictor = Predictor.from_path(tmp_path / "run", overrides={"model.decision": "tuned"})
    record = predictor.predict_json({"text": "Rats!"})
    assert set(record) == {"labels", "probability"}


@pytest.mark.slow
@pytest.mark.parametrize("config", cases("segmentation"))
def test_a_segmentation_config_trains_a_step_and_predicts(config, prepared, few_images, tmp_path, monkeypatch):
    metrics = trained(config, prepared(config), tmp_path / "run", monkeypatch)
    assert 0 <= metrics["mean_iou"] <= 100
    record = Predictor.from_path(tmp_path / "run").predict_json({"images": str(few_images), "row": 1})
    assert record["size"] == [32, 32] and 0 <= record["foreground"] <= 1
