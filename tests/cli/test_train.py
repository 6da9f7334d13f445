"""The sub-command `train`: what it makes, what it leaves, and what it says."""

import argparse
import json
import os

import pytest
import torch
from allennlp.commands import train as stock
from allennlp.common import Params
from allennlp.training import TrainerCallback
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from seal.allennlp.error_sentences import BEGUN, describe
from seal.cli import train as command
from seal.cli.train import train
from seal.registry import ConfigurationError
from tests.training.runs import config

WORKER = "allennlp.common.checks.ConfigurationError: no\n"


def test_its_options_are_those_of_allennlp():
    ours, theirs = argparse.ArgumentParser(), argparse.ArgumentParser()
    subparsers = (command.add_parser(ours.add_subparsers()), stock.Train().add_subparser(theirs.add_subparsers()))
    ours, theirs = (
        {(*each.option_strings, each.dest): (type(each), each.default, each.type or str) for each in parser._actions}
        for parser in subparsers
    )
    assert ours == theirs


@TrainerCallback.register("refusing_batches")
class Refusing(TrainerCallback):
    """Refuses what it is given once training has begun."""

    def on_batch(self, *args, **kwargs) -> None:
        raise ConfigurationError("no batch")


def refused(folder, **more):
    with pytest.raises(ConfigurationError):
        train(config("cross_entropy", **more), str(folder))


@pytest.mark.parametrize("exists", [False, True])
# The second is found before anything is made, the first by its constructor.
@pytest.mark.parametrize("more", [{"trainer__task_net__grad_norm": -1.0}, {"trainer__num_epoch": 2}])
def test_a_refused_config_leaves_nothing_and_the_corrected_command_runs(tmp_path, allennlp_logging, exists, more):
    folder = tmp_path / "run"
    if exists:
        folder.mkdir()
    refused(folder, **more)
    assert folder.exists() == exists and not list(tmp_path.glob("run/*"))
    train(config("cross_entropy"), str(folder))
    assert (folder / "model.tar.gz").exists()
    # What is there already is nobody else's to remove.
    refused(folder)
    with pytest.raises(ConfigurationError, match="num_epoch"):
        train(config("cross_entropy", trainer__num_epoch=2), str(folder), force=True)
    assert (folder / "model.tar.gz").exists()


def test_a_run_holds_the_lock_to_its_end_and_leaves_nothing_beside_its_folder(tmp_path, allennlp_logging):
    for _ in range(2):
        train(config(method="cross_entropy"), str(tmp_path / "run"), force=True)
        assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_run_is_as_that_of_the_stock_command(tmp_path, allennlp_logging):
    """Bit for bit; each continues what the other has begun."""
    train(config("nce", epochs=2), str(tmp_path / "ours"))
    stock.train_model(Params(config("nce", epochs=2)), str(tmp_path / "theirs"))
    for name in ("best.th", "vocabulary/tokens.txt", "config.json"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
    ours, theirs = (json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("ours", "theirs"))
    times = {name for name in ours if "duration" in name or "memory" in name}
    assert {name: ours[name] for name in ours.keys() - times} == {name: theirs[name] for name in theirs.keys() - times}
    assert train(config("nce", epochs=2), str(tmp_path / "theirs"), recover=True)
    assert stock.train_model(Params(config("nce", epochs=2)), str(tmp_path / "ours"), recover=True) is not None


def test_a_dry_run_trains_nothing(tmp_path, allennlp_logging):
    assert train(config("cross_entropy"), str(tmp_path / "run"), dry_run=True) is None
    made = {path.name for path in (tmp_path / "run").iterdir()}
    assert made == {"config.json", "environment.json", "meta.json", "out.log", "vocabulary"}


def test_a_run_that_had_begun_keeps_its_logs(tmp_path, allennlp_logging):
    refused(tmp_path / "run", trainer__callbacks=["refusing_batches"])
    assert (tmp_path / "run" / "out.log").exists() and (tmp_path / "run" / "config.json").exists()


@pytest.mark.parametrize(
    "owner, name, error, kept",
    [
        # After the training: the scores of test data, and the archive.
        (stock.TrainModel, "finish", ConfigurationError("no"), True),
        (command, "write_archive", FileNotFoundError(2, "no", "config.json"), True),
        (command, "_work", ProcessExitedException("no", 1, 7, -9, "SIGKILL"), True),
        (command, "_work", ProcessRaisedException(f"no\n{WORKER}{BEGUN}\n", 1, 7), True),
        (command, "_work", ProcessRaisedException(f"no\n{WORKER}", 1, 7), False),
    ],
)
def test_what_a_training_has_left_is_kept(tmp_path, allennlp_logging, monkeypatch, owner, name, error, kept):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(owner, name, fail)
    with pytest.raises(type(error)):
        train(config("cross_entropy"), str(tmp_path / "run"))
    assert (tmp_path / "run").exists() == kept


full_disk = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="/dev/full is not here")


class Filling(TrainerCallback):
    """Writes to a disk that is full: a small and a large file of torch, and another one."""

    def __init__(self, serialization_dir: str, how: str) -> None:
        super().__init__(serialization_dir)
        self.how = how

    def on_start(self, *args, **kwargs) -> None:
        if self.how == "text":
            with open("/dev/full", "w") as file:
                file.write("x")
        torch.save(torch.zeros(int(self.how)), "/dev/full")


TrainerCallback.register("filling")(Filling)


@full_disk
@pytest.mark.parametrize("how", ["text", "1", "1000000"])
def test_a_full_disk_is_one_sentence(tmp_path, allennlp_logging, how):
    folder = tmp_path / "run"
    with pytest.raises(OSError) as raised:
        train(config("cross_entropy", trainer__callbacks=[{"type": "filling", "how": how}]), str(folder))
    assert describe(raised.value).startswith(f"{folder}: ") and folder.exists()


def test_a_training_ends_with_what_came_out(tmp_path):
    # No epoch has ended, of which a card could tell: the model is archived without one.
    assert command._card(str(tmp_path)) == []
    assert [*command._what_was_trained(str(tmp_path), "model.tar.gz")] == ["model.tar.gz"]
    (tmp_path / "config.json").write_text('{"model": {"type": "seal_srl"}, "trainer": {"validation_metric": "+f1"}}')
    for epoch in (0, 1):
        (tmp_path / f"metrics_epoch_{epoch}.json").write_text('{"best_epoch": 0, "best_validation_f1": 71.2345}')
    assert command._card(str(tmp_path)) == ["model_card.md"]
    assert "seal_srl" in (tmp_path / "model_card.md").read_text()
    first, second = command._what_was_trained(str(tmp_path), "model.tar.gz")
    assert "epoch 1 of 2" in first and "71.23" in first and f"seal report {tmp_path}" in second
