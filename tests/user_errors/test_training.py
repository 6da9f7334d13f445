"""A user's mistake in `allennlp train`: one sentence on standard error, exit status 1, no traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seal.cli.main import main
from tests.forked import Forked

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "config, model, told",
    [
        ("text_nce", "seal_multilabel", 'MultilabelModel does not read "tokens", which dataset_reader gives'),
        ("tagging_nce", "seal_srl", 'SrlModel needs "predicate", which dataset_reader does not give'),
    ],
)
def test_a_model_and_a_reader_of_two_tasks(command, tmp_path, monkeypatch, config, model, told):
    monkeypatch.chdir(ROOT)
    path = f"training_configs/{config}.jsonnet"
    told_to = command("train", path, "-s", str(tmp_path / "run"), "-o", '{"model.type": "%s"}' % model)
    assert told_to == f"error: model.type: {told}; take both from one task\n"


@pytest.mark.parametrize(
    "overrides, sentence",
    [
        ('{"trainer.num_epoch": 3}', 'config key "trainer.num_epoch" is unknown to GradientDescentTrainer'),
        (
            '{"train_data_path": "none.tsv"}',
            'config key "train_data_path": there is no file or folder none.tsv; put',
        ),
        ('{"train_data_path": "none.{tsv}"}', "file none.{tsv} not found"),
        # Read by another process, whose error arrives as text.
        ('{"train_data_path": "none.{tsv}", "data_loader.num_workers": 1}', "file none.{tsv} not found"),
        ('{"trainer.nothing.here": 3}', "overrides dict contains unused keys: ['trainer.nothing.here']"),
        ('{"a": 1', "--overrides, at 1:"),
        ('{"vocabulary": {"type": "from_files", "directory": "none"}}', "file none not found"),
        # Values that a constructor refuses: at once, when the object is built later, and in its base class.
        ('{"model.encoder.num_layers": 0}', 'config key "model.encoder": num_layers must be greater than zero'),
        ('{"trainer.optimizer": {"type": "adam", "lr": -1}}', 'config key "trainer.optimizer": Invalid learning'),
        # The same of a constructor that is patched.
        (
            '{"trainer.learning_rate_scheduler": {"type": "reduce_on_plateau", "factor": 2}}',
            'config key "trainer.learning_rate_scheduler": Factor should be < 1.0.',
        ),
        ('{"data_loader.batches_per_epoch": 0}', 'config key "data_loader": batches_per_epoch must be at least 1'),
        ("[1]", "--overrides must be an object, found [1]"),
    ],
)
def test_train(command, config, tmp_path, overrides, sentence):
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith(f"error: {sentence}")
    assert told.count("\n") == 1
    # So that the corrected command runs.
    assert not (tmp_path / "run").exists()


def test_a_metric_that_the_model_does_not_report(command, config, tmp_path):
    more = {"trainer.validation_metric": "+accuracy4", "validation_data_path": str(tmp_path / "train.tsv")}
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", json.dumps(more))
    key = 'config key "trainer.validation_metric"'
    assert told.startswith(f'error: {key}: the model did not report "accuracy4"; did you mean "accuracy')


def test_a_run_that_is_recovered(command, archive, config):
    told = command("train", config, "-s", str(archive.parent), "--recover", "-o", '{"random_seed": 3}')
    path = archive.parent / "config.json"
    assert told == f'error: --recover: the config must be that of the run, {path}; it differs in "random_seed"\n'
    main(["train", config, "-s", str(archive.parent), "--recover"])


@pytest.mark.parametrize(
    "kind, name, start, end",
    [
        ("pretrained_transformer_mismatched", "folder", "Unrecognized model in {name}.", "config.json.\n"),
        ("pretrained_transformer", "no/such-model", "encoder '{name}' is neither a local folder with a trans", "\n"),
    ],
)
def test_an_encoder_that_is_not_there(command, config, tmp_path, kind, name, start, end):
    (tmp_path / "folder").mkdir()
    name = name if "/" in name else str(tmp_path / name)
    overrides = json.dumps({"dataset_reader.token_indexers": {"tokens": {"type": kind, "model_name": name}}})
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith(f"error: {start.format(name=name)}") and told.endswith(end) and told.count("\n") == 1


def test_files_that_are_not_there(command, tmp_path):
    assert command("train", "none.jsonnet", "-s", str(tmp_path / "run")) == "error: file none.jsonnet not found\n"
    for name in ("evaluate", "predict"):
        told = command(name, "none.tar.gz", "x")
        assert told.startswith("error: none.tar.gz") and told.count("\n") == 1


def test_data_without_instances_of_which_all_is_made(command, config, tmp_path):
    (tmp_path / "train.tsv").write_text("\n")
    told = command("train", config, "-s", str(tmp_path / "run"))
    assert told.startswith(f"error: {tmp_path / 'train.tsv'}: no instance is read; ") and told.count("\n") == 1


def test_the_command_itself_ends_with_status_1(config, tmp_path):
    """As a user runs it in the repository, where `.allennlp_plugins` names seal."""
    arguments = ["train", config, "-s", str(tmp_path / "run"), "-o", '{"model.encoder.hidden": 3}']
    environment = {**os.environ, "ALLENNLP_LOG_LEVEL": "WARNING"}
    command = [sys.executable, "-m", "seal", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith('error: config key "model.encoder.hidden" is unknown to')
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.slow
def test_two_processes(config, tmp_path):
    """The sentence is that of one of them."""
    overrides = {"distributed": {"cuda_devices": [-1, -1]}, "model.encoder.hidden": 3}
    arguments = ("train", config, "-s", str(tmp_path / "run"), "-o", json.dumps(overrides))
    command = Forked("tests.user_errors.forked_workers", *arguments, cwd=ROOT)
    out, told = command.communicate()
    assert command.returncode == 1
    assert "Traceback" not in told + out
    assert told.splitlines()[-1].startswith('error: config key "model.encoder.hidden" is unknown to')
