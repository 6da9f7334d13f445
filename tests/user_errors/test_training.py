"""A user's mistake in `seal train`: one sentence on standard error, exit status 1, no traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seal.cli.main import main
from tests.forked import Forked

ROOT = Path(__file__).resolve().parents[2]


#: Overrides of a config that is right, and what the sentence names.
MISTAKES = [
    ('{"trainer.num_epoch": 3}', '"trainer.num_epoch"', '"num_epochs"'),
    ('{"train_data_path": "none.tsv"}', '"train_data_path"', "none.tsv"),
    ('{"train_data_path": "none.{tsv}"}', "none.{tsv}"),
    # Read by another process, whose error arrives as text.
    ('{"train_data_path": "none.{tsv}", "data_loader.num_workers": 1}', "none.{tsv}"),
    ('{"trainer.nothing.here": 3}', "'trainer.nothing.here'"),
    ('{"a": 1', "--overrides, at 1:"),
    ("[1]", "--overrides", "[1]"),
    ('{"vocabulary": {"type": "from_files", "directory": "none"}}', "none"),
    # Values that a constructor refuses: at once, when the object is built later, and in its base class.
    ('{"model.encoder.num_layers": 0}', '"model.encoder"', "num_layers"),
    ('{"trainer.optimizer": {"type": "adam", "lr": -1}}', '"trainer.optimizer"', "-1"),
    # The same of a constructor that is patched.
    (
        '{"trainer.learning_rate_scheduler": {"type": "reduce_on_plateau", "factor": 2}}',
        '"trainer.learning_rate_scheduler"',
    ),
    ('{"data_loader.batches_per_epoch": 0}', '"data_loader"', "batches_per_epoch"),
    *(
        (json.dumps({"dataset_reader.token_indexers": {"tokens": {"type": kind, "model_name": name}}}), name)
        for kind, name in (
            ("pretrained_transformer_mismatched", str(ROOT / "tests")),
            ("pretrained_transformer", "no/such-model"),
        )
    ),
]


@pytest.mark.parametrize("overrides, named", [(row[0], row[1:]) for row in MISTAKES])
def test_train(command, config, tmp_path, overrides, named):
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", overrides)
    assert told.startswith("error: ") and told.count("\n") == 1 and all(word in told for word in named), told
    # So that the corrected command runs.
    assert not (tmp_path / "run").exists()


def test_a_metric_that_the_model_does_not_report(command, config, tmp_path):
    more = {"trainer.validation_metric": "+accuracy4", "validation_data_path": str(tmp_path / "train.tsv")}
    told = command("train", config, "-s", str(tmp_path / "run"), "-o", json.dumps(more))
    assert told.startswith("error: ") and "accuracy4" in told


def test_a_run_that_is_recovered(command, archive, config):
    told = command("train", config, "-s", str(archive.parent), "--recover", "-o", '{"random_seed": 3}')
    assert told.startswith("error: --recover: ") and '"random_seed"' in told
    main(["train", config, "-s", str(archive.parent), "--recover"])


def test_files_that_are_not_there(command, tmp_path):
    for asked in (("train", "none.jsonnet", "-s", str(tmp_path / "run")), ("evaluate", "none.tar.gz", "x")):
        told = command(*asked)
        assert told.startswith("error: ") and asked[1] in told and told.count("\n") == 1


def test_data_without_instances_of_which_all_is_made(command, config, tmp_path):
    (tmp_path / "train.tsv").write_text("\n")
    told = command("train", config, "-s", str(tmp_path / "run"))
    assert told.startswith(f"error: {tmp_path / 'train.tsv'}: ") and told.count("\n") == 1


def test_the_command_itself_ends_with_status_1(config, tmp_path):
    """As a user runs it in the repository, where `.allennlp_plugins` names seal."""
    arguments = ["train", config, "-s", str(tmp_path / "run"), "-o", '{"model.encoder.hidden": 3}']
    environment = {**os.environ, "ALLENNLP_LOG_LEVEL": "WARNING"}
    command = [sys.executable, "-m", "seal", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: ") and '"model.encoder.hidden"' in done.stderr
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
    assert told.splitlines()[-1].startswith("error: ") and '"model.encoder.hidden"' in told
