"""scripts/ready_model.py: what it trains, how it goes on, and what it says where something is missing."""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from scripts import ready_model
from scripts.measure.suite import ROOT, UserError
from scripts.samples import join_ewt
from seal.allennlp.safe_archives import extracted_archive
from tests import forked
from tests.scripts.written_configs import evaluated

CONFIG = ready_model.HEAD + "{}"
SAMPLE = ROOT / "data" / "tagging_sample"


@pytest.fixture
def small(monkeypatch):
    """The tagger, on the sample."""
    model = replace(
        ready_model.MODELS["pos"],
        data="tagging.data.sample",
        training="tagging.training.sample { epochs: 1 }",
        files=(str(SAMPLE / "dev.tsv"),),
        test=str(SAMPLE / "test.tsv"),
        scores=("f1", "accuracy"),
    )
    monkeypatch.setitem(ready_model.MODELS, "pos", model)


@pytest.mark.parametrize("name", ready_model.MODELS)
@pytest.mark.parametrize("encoder", [None, "any/name"])
def test_a_config_reads_the_data_with_the_encoder_that_is_named(name, encoder):
    model = ready_model.MODELS[name]
    config = evaluated(model.config(encoder, "{ epochs: 7 }"))
    assert config["model"]["task_net"]["encoder"].get("model_name") == encoder
    assert config["dataset_reader"]["token_indexers"]["tokens"].get("model_name") == encoder
    assert config["trainer"]["num_epochs"] == 7
    assert config["trainer"]["checkpointer"]["save_every_num_batches"] == ready_model.BATCHES_PER_CHECKPOINT
    assert {config["train_data_path"], config["validation_data_path"].partition("#")[0]} == set(model.files)
    assert model.test.partition("#")[0] in model.files and model.test != config["validation_data_path"]


def test_one_command_trains_packs_and_writes_the_card_and_a_second_changes_nothing(small, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(ready_model, "subprocess", SimpleNamespace(run=forked.run))
    command = ["pos", "--out", str(tmp_path)]
    assert ready_model.main(command) == 0
    archive, whole = tmp_path / "english-pos.tar.gz", tmp_path / "run" / "model.tar.gz"
    scores = json.loads(next(line for line in capfd.readouterr().out.splitlines() if line.startswith("{")))
    card = (tmp_path / "english-pos.md").read_text(encoding="utf-8")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert f"| `accuracy` | {scores['accuracy']:.2f} |" in card and digest in card
    before, after = weights_of(whole), weights_of(archive)
    assert {value.dtype for value in after.values()} == {torch.float16}
    assert all(torch.equal(value.half(), after[name]) for name, value in before.items())
    written = whole.stat().st_mtime_ns, archive.read_bytes()
    assert ready_model.main(command) == 0 and written == (whole.stat().st_mtime_ns, archive.read_bytes())
    assert ready_model.main([*command, "--training", "{ epochs: 3 }"]) == 2
    assert "has other settings" in capfd.readouterr().err and whole.stat().st_mtime_ns == written[0]


def weights_of(archive):
    with extracted_archive(str(archive)) as folder:
        return torch.load(Path(folder) / "weights.th", weights_only=True)


def test_scores_that_half_precision_moves_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(ready_model, "pack", lambda *_: None)
    found = {"model.tar.gz": {"f1": 70.0, "loss": 1.0}, "packed": {"f1": 70.06, "loss": 2.0}}
    monkeypatch.setattr(ready_model, "scores_of", lambda archive, data: found[archive.name])
    with pytest.raises(UserError, match="'f1' from 70.00 to 70.06"):
        ready_model.packed(tmp_path, tmp_path / "packed", "data")


@pytest.mark.parametrize("stopped, option", [(True, "--recover"), (False, "--force")])
def test_a_training_goes_on_from_its_checkpoint(monkeypatch, tmp_path, stopped, option):
    run, calls = tmp_path / "run", []
    monkeypatch.setattr(ready_model, "seal", lambda *arguments: calls.append(arguments) or 0)
    if stopped:
        run.mkdir()
        (run / "training_state_e0_b250.th").touch()
        (tmp_path / "config.jsonnet").write_text(CONFIG)
    assert ready_model.train(run, CONFIG) == 0
    assert calls == [("train", tmp_path / "config.jsonnet", "-s", run, option)]


@pytest.mark.parametrize("name", ["run/thesis.txt", "config.jsonnet"])
def test_files_of_something_else_are_kept(small, monkeypatch, tmp_path, capsys, name):
    monkeypatch.setattr(ready_model, "seal", None)
    (tmp_path / "run").mkdir()
    (tmp_path / name).write_text("mine")
    assert ready_model.main(["pos", "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "not of this command" in line and (tmp_path / name).read_text() == "mine"


def test_the_commands_for_absent_data_are_those_of_the_guides():
    commands = re.findall("`([^`]+)`", ready_model.MODELS["srl"].source)
    assert len(commands) == 3
    for page in ("docs/srl.md", "data/README.md"):
        assert "\n".join(["```sh", *commands, ""]) in (ROOT / page).read_text(encoding="utf-8")
    arguments = join_ewt.parser().parse_args(commands[-1].split()[2:])
    assert [Path(clone.split()[-1]) for clone in commands[:2]] == [arguments.propbank, arguments.treebank]
    assert {Path(file).parent for file in ready_model.MODELS["srl"].files} == {arguments.out}
