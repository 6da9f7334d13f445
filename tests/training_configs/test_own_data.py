"""The configs with data of one's own, as the pages have them, train and are evaluated."""

import json
import re
from pathlib import Path

import _jsonnet
import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.predictors import Predictor

import seal.plugin  # noqa: F401

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("task, score", [("multilabel", "f1"), ("segmentation", "mean_iou")])
def test_the_example_of_the_page_runs(task, score, tmp_path, monkeypatch):
    page = (ROOT / "docs" / f"{task}.md").read_text(encoding="utf-8")
    (block,) = (found for found in re.findall(r"```jsonnet\n(.*?)```", page, flags=re.DOTALL) if "data={" in found)
    (tmp_path / "config.jsonnet").write_text(block, encoding="utf-8")
    config = Params.from_file(str(tmp_path / "config.jsonnet")).as_dict(quiet=True)
    assert config["trainer"]["num_epochs"] in (50, 60)  # What the page sets.
    config["trainer"]["num_epochs"] = 1
    test = re.search(r"test: '([^']+)'", block)[1]
    assert all((ROOT / path).is_file() for path in (config["train_data_path"], config["validation_data_path"], test))
    if task == "segmentation":
        # All crops of an image take as long as 36 images.
        config["model"]["crops_per_side"] = 2
    monkeypatch.chdir(ROOT)
    train_model(Params(config), str(tmp_path / "run"))
    assert 0 <= evaluate_from_archive(tmp_path / "run" / "model.tar.gz", test)[score] <= 100


def test_the_recipe_for_entities_of_a_conll_file(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "tagging.md").read_text(encoding="utf-8").partition("## Entities on your file")[2]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my").mkdir()
    Path("my/entities.jsonnet").write_text(re.search(r"```jsonnet\n(.*?)```", page, re.DOTALL)[1], encoding="utf-8")
    sample = (ROOT / "data" / "tagging_sample" / "train.tsv").read_text(encoding="utf-8")
    sentences = re.sub(r"([BI])-(\w+)$", r"\2_\1", sample, flags=re.MULTILINE).split("\n\n")
    for number, name in enumerate(("train", "dev", "test")):
        part = sentences[number : 90 if number == 0 else 60 : 3]
        Path(f"my/{name}.tsv").write_text("\n\n".join(part) + "\n", encoding="utf-8")
    commands = re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].splitlines()
    assert [line.partition("seal ")[2].split()[0] for line in commands] == ["check", "train", "evaluate", "predict"]
    config = Params.from_file("my/entities.jsonnet").as_dict(quiet=True)
    config["trainer"]["num_epochs"] = 1
    train_model(Params(config), "runs/entities")
    archive = "runs/entities/model.tar.gz"
    assert all(archive in line for line in commands[2:])
    assert 0 <= evaluate_from_archive(archive, "my/test.tsv")["f1"] <= 100
    record = Predictor.from_path(archive, predictor_name="seal_tagging").predict(
        re.search("echo '(.*)'", commands[3])[1]
    )
    assert len(record["tags"]) == len(record["words"])
    assert all(re.fullmatch(r"O|\w+_[BI]", tag) for tag in record["tags"])


@pytest.mark.parametrize("task", ["srl", "tagging", "text", "multilabel", "segmentation"])
def test_validation_data_have_either_name(task):
    """And a partial `training` is as the whole one."""
    more = ", size: 32, crop: 24" if task == "segmentation" else ""
    data = f"{{ train: 'a', %s: 'b'{more} }}"
    encoder = "" if task in ("multilabel", "segmentation") else "encoder=lib.encoder.bilstm(), "
    library = (ROOT / "training_configs" / "lib" / f"{task}.libsonnet").as_posix()

    def evaluated(name):
        call = f"lib.experiment(data={data % name}, {encoder}method=lib.method.nce(), training={{ epochs: 7 }})"
        return json.loads(_jsonnet.evaluate_snippet("test", f"local lib = import '{library}'; {call}"))

    assert evaluated("dev") == evaluated("valid")
    assert evaluated("valid")["validation_data_path"] == "b" and evaluated("dev")["trainer"]["num_epochs"] == 7
