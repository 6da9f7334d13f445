"""What a run leaves in its folder."""

import codecs
import logging
import os
from types import SimpleNamespace

import filelock
import pytest
import torch
from allennlp.commands import train
from allennlp.common import Params
from allennlp.common import util as common_util
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.training import Checkpointer, GradientDescentTrainer, TrainerCallback
from allennlp.training.trainer import TrainerCheckpoint
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from seal.allennlp.error_sentences import BEGUN, describe
from seal.allennlp.run_folder import end_early_in_order
from seal.cli.logs import quiet_on_a_full_disk
from tests.training.runs import config

WORKER = "allennlp.common.checks.ConfigurationError: no\n"


@TrainerCallback.register("refusing_batches")
class Refusing(TrainerCallback):
    """Refuses what it is given once training has begun."""

    def on_batch(self, *args, **kwargs) -> None:
        raise ConfigurationError("no batch")


def refused(folder, **more):
    with pytest.raises(ConfigurationError):
        train.train_model(Params(config("cross_entropy", **more)), str(folder))


@pytest.mark.parametrize("exists", [False, True])
def test_a_config_that_is_refused_leaves_nothing_and_the_corrected_command_runs(tmp_path, allennlp_logging, exists):
    folder = tmp_path / "run"
    if exists:
        folder.mkdir()
    refused(folder, trainer__task_net__grad_norm=-1.0)
    assert folder.exists() == exists and not list(tmp_path.glob("run/*"))
    train.train_model(Params(config("cross_entropy")), str(folder))
    assert (folder / "model.tar.gz").exists()
    # What is there already is nobody else's to remove.
    refused(folder)
    assert (folder / "model.tar.gz").exists()


def test_a_run_that_had_begun_keeps_its_logs(tmp_path, allennlp_logging):
    refused(tmp_path / "run", trainer__callbacks=["refusing_batches"])
    assert (tmp_path / "run" / "out.log").exists() and (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize(
    "owner, name, error, kept",
    [
        # After the training: the scores of test data, and the archive.
        (train.TrainModel, "finish", ConfigurationError("no"), True),
        (train, "archive_model", FileNotFoundError(2, "no", "config.json"), True),
        (train, "_train_worker", ProcessExitedException("no", 1, 7, -9, "SIGKILL"), True),
        (train, "_train_worker", ProcessRaisedException(f"no\n{WORKER}{BEGUN}\n", 1, 7), True),
        (train, "_train_worker", ProcessRaisedException(f"no\n{WORKER}", 1, 7), False),
    ],
)
def test_what_a_training_has_left_is_kept(tmp_path, allennlp_logging, monkeypatch, owner, name, error, kept):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(owner, name, fail)
    end_early_in_order()
    with pytest.raises(type(error)):
        train.train_model(Params(config("cross_entropy")), str(tmp_path / "run"))
    assert (tmp_path / "run").exists() == kept


full_disk = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not here")


@pytest.mark.parametrize("number", [1, 10**6])
@full_disk
def test_what_does_not_fit_on_the_disk_is_named(tmp_path, monkeypatch, number):
    """Each file links to a disk that is full."""
    for name in ("best.th", "model_state_e1_b0.th", "training_state_e1_b0.th", "metrics_epoch_0.json"):
        (tmp_path / name).symlink_to("/dev/full")
    trainer = SimpleNamespace(_ddp_wrapped_model=None, model=torch.nn.Linear(number, 1))
    state = TrainerCheckpoint(trainer.model.state_dict(), {"epochs_completed": 1, "batches_in_epoch_completed": 0})
    monkeypatch.setattr(os.path, "isfile", lambda _: False)
    checkpointer = Checkpointer(str(tmp_path))
    writing = {
        "best.th": lambda path: GradientDescentTrainer._save_model_state(trainer, path),
        "model_state_e1_b0.th": lambda _: checkpointer.save_checkpoint(
            SimpleNamespace(get_checkpoint_state=lambda: state)
        ),
        "metrics_epoch_0.json": lambda path: common_util.dump_metrics(path, {"f1": 1.0}),
    }
    for name, write in writing.items():
        with pytest.raises(OSError) as raised:
            write(str(tmp_path / name))
        assert describe(raised.value).startswith(f"{tmp_path / name}: "), name


@full_disk
def test_a_vocabulary_that_does_not_fit_on_the_disk(tmp_path):
    (tmp_path / "labels.txt").symlink_to("/dev/full")
    with pytest.raises(OSError) as raised:
        Vocabulary(counter={"labels": {"a": 1}}).save_to_files(str(tmp_path))
    assert describe(raised.value) == f"{tmp_path}: No space left on device"


@full_disk
def test_logs_that_do_not_fit_on_the_disk(tmp_path, capsys, monkeypatch):
    """They are lost without a traceback for each line; other errors of logging are told."""
    handler = logging.FileHandler("/dev/full")
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [handler])
    quiet_on_a_full_disk()
    root.warning("lost")
    assert capsys.readouterr().err == ""
    root.warning("%d", "no number")
    assert "Logging error" in capsys.readouterr().err


def test_namespaces_are_written_in_order_and_under_the_lock(tmp_path, monkeypatch):
    names = ["*tags", "zebra", "*labels", "apple", "mango"]
    vocabulary = Vocabulary(counter={"apple": {"a": 1}}, non_padded_namespaces=names)
    written = []

    def opened(path, *args):
        written.append(os.path.basename(path))
        # Workers of a run read these files while the first one writes them.
        with pytest.raises(filelock.Timeout):
            filelock.FileLock(tmp_path / ".lock").acquire(timeout=0)
        return open_as_before(path, *args)

    open_as_before = codecs.open
    monkeypatch.setattr(codecs, "open", opened)
    vocabulary.save_to_files(str(tmp_path))
    monkeypatch.undo()
    assert sorted(written) == ["apple.txt", "non_padded_namespaces.txt"]
    assert (tmp_path / "non_padded_namespaces.txt").read_text().split() == sorted(vocabulary._non_padded_namespaces)
    vocabulary.add_token_to_namespace("b", "apple")
    assert Vocabulary.from_files(str(tmp_path)).get_vocab_size("apple") == 1
