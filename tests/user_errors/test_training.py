"""A user's mistake in `allennlp train`: one sentence on standard error, exit status 1, no traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from allennlp.commands.train import train_model_from_file

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
        ('{"model.type": "simple_tager"}', 'config key "model.type": "simple_tager" is not a registered'),
        # Only the reader's base class refuses this key: readers pass their `**kwargs` on.
        ('{"dataset_reader.max_instance": 3}', 'config key "dataset_reader.max_instance" is unknown'),
        ('{"train_data_path": "none.tsv"}', "file none.tsv not found"),
        # Read by another process, whose error arrives as text.
        ('{"train_data_path": "none.tsv", "data_loader.num_workers": 1}', "file none.tsv not found"),
        ('{"trainer.nothing.here": 3}', "overrides dict contains unused keys: ['trainer.nothing.here']"),
        ('{"a": 1', "--overrides, at 1:"),
        ('{"vocabulary": {"type": "from_files", "directory": "none"}}', "file none not found"),
        # Values that a constructor refuses: at once, when the object is built later, and in its base class.
        ('{"model.encoder.num_layers": 0}', 'config key "model.encoder": num_layers must be greater than zero'),
        ('{"trainer.optimizer": {"type": "adam", "lr": -1}}', 'config key "trainer.optimizer": Invalid learning'),
        ('{"dataset_reader.max_instances": 0}', 'config key "dataset_reader.max_instances" of SequenceTaggingDatasetR'),
        (
            '{"trainer.learning_rate_scheduler": {"type": "step", "step_size": 0}}',
            'config key "trainer.learning_rate_scheduler.step_size" of StepLearningRateScheduler must be at least 1',
        ),
        (
            '{"trainer.moving_average": {"type": "exponential", "decay": 1.9}}',
            'config key "trainer.moving_average.decay" of ExponentialMovingAverage must be at least 0 and below 1, f',
        ),
        ('{"model.encoder.dropout": 1.5}', 'config key "model.encoder.dropout" of LstmSeq2SeqEncoder must be at least'),
        # The same of a constructor that is patched.
        (
            '{"trainer.learning_rate_scheduler": {"type": "reduce_on_plateau", "factor": 2}}',
            'config key "trainer.learning_rate_scheduler": Factor should be < 1.0.',
        ),
        ('{"data_loader.batches_per_epoch": 0}', 'config key "data_loader": batches_per_epoch must be at least 1'),
        ('{"random_seed": "x"}', "config key \"random_seed\" must be a whole number from 0 to 4294967295, found 'x'"),
        ('{"numpy_seed": -1}', 'config key "numpy_seed" must be a whole number from 0 to 4294967295, found -1'),
        ('{"pytorch_seed": 1.5}', 'config key "pytorch_seed" must be a whole number from 0 to 4294967295, found 1.5'),
        ('{"distributed": [-1, -1]}', 'config key "distributed" must be an object with "cuda_devices", a list'),
        ('{"distributed": {"cuda_device": [0, 1]}}', 'config key "distributed" must be an object with "cuda_devices"'),
        (
            '{"distributed": {"cuda_devices": [-1, -1], "num_nods": 2}}',
            'config key "distributed.num_nods" is unknown; did you mean "num_nodes"?',
        ),
        (
            '{"distributed": {"cuda_devices": [-1, -1], "num_nodes": 0}}',
            'config key "distributed.num_nodes" must be at least 1, found 0',
        ),
        (
            '{"distributed": {"cuda_devices": [-2, -3]}}',
            'config key "distributed.cuda_devices" must have numbers of GPUs, or a -1 for each process on the CPU, f',
        ),
        (
            '{"distributed": {"cuda_devices": [0, 99]}}',
            'config key "distributed.cuda_devices": there is no GPU 99 here, whose GPUs are ',
        ),
        ('{"evaluate_on_test": true}', 'config key "evaluate_on_test" needs a "test_data_path", and there is none'),
        ('{"evaluate_on_test": true, "test_data_path": null}', 'config key "evaluate_on_test" needs a "test_data_'),
        ('{"validation_dataset_reader": null}', 'config key "validation_dataset_reader" is null; leave it out'),
        (
            '{"datasets_for_vocab_creation": ["train", "valid"]}',
            "config key \"datasets_for_vocab_creation\" must name some of train, validation, test, found 'valid'",
        ),
        ('{"serialization_dir": "x"}', 'config key "serialization_dir": the command line says where, with -s'),
        ('{"model": null}', 'config key "model" of TrainModel is null'),
        ('{"trainer": []}', 'config key "trainer" of TrainModel must be an object, found []'),
        ("[1]", "--overrides must be an object, found [1]"),
        ("5", "--overrides must be an object, found 5"),
    ],
)
def test_train(command, config, tmp_path, overrides, sentence):
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith(f"error: {sentence}")
    assert told.count("\n") == 1
    # So that the corrected command runs.
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "overrides, keys",
    [
        ({"random_seed": 3}, '"random_seed"'),
        ({"trainer.patience": None, "trainer.num_epochs": 2}, '"trainer.num_epochs", "trainer.patience"'),
        (
            {"dataset_reader": {"type": "other"}, "data_loader": {}, "model.encoder": {}},
            '"data_loader.batch_size", "dataset_reader.type", "model.encoder.hidden_size" and 2 more',
        ),
    ],
)
def test_a_run_that_is_recovered_with_another_config(command, archive, config, overrides, keys):
    told = command("train", config, "-s", str(archive.parent), "--recover", "-o", json.dumps(overrides))
    path = archive.parent / "config.json"
    assert told == f"error: --recover: the config must be that of the run, {path}; it differs in {keys}\n"


def test_a_run_that_is_recovered_with_its_own_config(archive, config):
    assert train_model_from_file(config, str(archive.parent), recover=True) is not None


def test_a_folder_without_a_transformer(command, config, tmp_path):
    (tmp_path / "none").mkdir()
    indexer = {"type": "pretrained_transformer_mismatched", "model_name": str(tmp_path / "none")}
    overrides = json.dumps({"dataset_reader.token_indexers": {"tokens": indexer}})
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith(f"error: Unrecognized model in {tmp_path / 'none'}.")
    assert told.endswith("config.json.\n") and told.count("\n") == 1


def test_a_seed_of_the_environment_is_a_string(config, tmp_path, allennlp_logging):
    overrides = '{"random_seed": "7", "numpy_seed": 0, "pytorch_seed": null}'
    assert train_model_from_file(config, str(tmp_path / "run"), overrides) is not None


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("{\n  a: error 'set the data path',\n}", ":2:6-31: set the data path"),
        ("{\n  a: nothing,\n}", ":2:6-13: Unknown variable: nothing"),
        ("{\n  a: ,\n}", ':2:6: unexpected: ","'),
    ],
)
def test_a_config_that_jsonnet_refuses_is_named_with_its_line(command, tmp_path, text, sentence):
    path = tmp_path / "bad.jsonnet"
    path.write_text(text, encoding="utf-8")
    told = command("train", str(path), "-s", str(tmp_path / "run"))
    assert told.startswith(f"error: {path}{sentence}")
    assert told.count("\n") == 1


def test_a_config_that_is_a_folder_or_no_object(command, tmp_path):
    told = command("train", str(tmp_path), "-s", str(tmp_path / "run"))
    assert told == f"error: {tmp_path}: a config is a file, and this is a folder\n"
    path = tmp_path / "list.jsonnet"
    path.write_text("[1]", encoding="utf-8")
    told = command("train", str(path), "-s", str(tmp_path / "run"), "-o", '{"a": 1}')
    assert told == f"error: {path}: a config must be an object, found [1]\n"


def test_files_that_are_not_there_or_no_archives(command, tmp_path):
    run = str(tmp_path / "run")
    assert command("train", "none.jsonnet", "-s", run) == "error: file none.jsonnet not found\n"
    assert command("evaluate", "none.tar.gz", "x") == "error: file none.tar.gz not found\n"
    assert command("predict", "none.tar.gz", "x") == "error: file none.tar.gz not found\n"
    no_archive = tmp_path / "model.tar.gz"
    no_archive.write_text("nothing")
    told = command("evaluate", str(no_archive), "x")
    assert told.startswith(f"error: {no_archive} is not a model archive (.tar.gz), or a damaged one: ")
    assert told.count("\n") == 1
    told = command("train", "none.jsonnet", "-s", run, "--include-package", "no_such_package")
    assert told == "error: --include-package no_such_package: there is no such package\n"


def test_data_without_instances(command, config, tmp_path):
    (tmp_path / "train.tsv").write_text("\n")
    told = command("train", config, "-s", str(tmp_path / "run"))
    assert told.startswith(f"error: {tmp_path / 'train.tsv'}: no instance is read; ") and told.count("\n") == 1


def test_a_misspelt_seed(command, config, tmp_path):
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", '{"random_sed": 1}')
    assert told.endswith('"random_sed" is unknown to TrainModel; did you mean "random_seed"?\n')


def test_a_model_name_that_is_nowhere_is_one_sentence(command, config, tmp_path):
    indexers = {"tokens": {"type": "pretrained_transformer", "model_name": "no/such-model"}}
    overrides = json.dumps({"dataset_reader.token_indexers": indexers})
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith("error: ") and told.count("\n") == 1


def _run(module: str, *arguments: str) -> subprocess.CompletedProcess:
    """The command as a user runs it in the repository, where `.allennlp_plugins` names seal."""
    environment = {**os.environ, "ALLENNLP_LOG_LEVEL": "WARNING"}
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_the_command_itself_ends_with_status_1(config, tmp_path):
    done = _run("seal", "train", config, "-s", str(tmp_path / "run"), "-o", '{"model.encoder.hidden": 3}')
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith('error: config key "model.encoder.hidden" is unknown to')
    assert "Traceback" not in done.stderr + done.stdout


@pytest.mark.slow
def test_two_processes(config, tmp_path):
    """The sentence is that of one of them."""
    overrides = {"distributed": {"cuda_devices": [-1, -1]}, "model.encoder.hidden": 3}
    arguments = ("train", config, "-s", str(tmp_path / "run"), "-o", json.dumps(overrides))
    done = _run("tests.user_errors.forked_workers", *arguments)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr + done.stdout
    assert done.stderr.splitlines()[-1].startswith('error: config key "model.encoder.hidden" is unknown to')
