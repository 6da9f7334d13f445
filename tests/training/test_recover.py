"""A run that was killed and recovered, against one that was not: bit for bit."""

import copy
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training import TrainerCallback

from seal.allennlp.error_sentences import describe
from tests import segmentation
from tests.forked import Forked
from tests.mixed_precision import needs_bfloat16_lstms
from tests.training.runs import (
    LINEAR,
    PLATEAU,
    ROOT,
    KillAt,
    Killed,
    build,
    comparable,
    config,
    kill_and_recover,
    same,
    shapes_run,
    train_until_killed,
    trained,
    weights,
)

SHUFFLED = {"batch_sampler": {"type": "bucket", "batch_size": 2, "sorting_keys": ["tokens"], "padding_noise": 0.5}}


def settings(**more: Any) -> dict[str, Any]:
    """Dropout, NCE draws, two schedulers, data in random order; 3 epochs of 4 batches, a checkpoint each."""
    return config(
        epochs=3,
        **{
            "data_loader": dict(SHUFFLED),
            "validation_data_loader": {"batch_size": 3, "shuffle": True},
            "trainer__checkpointer": {"save_every_num_batches": 1},
            "trainer__task_net__learning_rate_scheduler": LINEAR,
            "trainer__loss_net__learning_rate_scheduler": PLATEAU,
            **more,
        },
    )


# Phases: a loss-net between two task-nets, of one, one and two epochs; it begins as the first of them.

STATIC = {
    "model__task_net__bias": False,
    "trainer__num_epochs": 4,
    "trainer__phases": [
        {"epochs": 1, "train": "task_net", "energy": False},
        {"epochs": 1, "train": "loss_net", "copy_task_net": True},
        {"train": "task_net", "restart": True},
    ],
}


class Whole:
    """What an uninterrupted run ends with."""

    def __init__(self, built: dict[str, Any], folder: Path) -> None:
        self.built, trainer = copy.deepcopy(built), build(built, folder)
        self.metrics = comparable(trainer.train())
        self.weights = weights(trainer.model)
        self.best = torch.load(folder / "best.th")
        self.rates = [group["lr"] for group in trainer.optimizer.param_groups]

    def check(self, trainer, metrics, folder: Path) -> None:
        assert comparable(metrics) == self.metrics
        assert same(weights(trainer.model), self.weights)
        assert same(torch.load(folder / "best.th"), self.best)
        assert [group["lr"] for group in trainer.optimizer.param_groups] == self.rates

    def check_killed(self, folder: Path, *killers: TrainerCallback) -> None:
        """Such a run that is killed by each of these, and recovered, ends with the same."""
        self.check(*kill_and_recover(self.built, folder, *killers), folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Whole:
    return Whole(settings(), tmp_path_factory.mktemp("whole"))


def test_runs_repeat_themselves(tmp_path, whole):
    trainer = build(settings(), tmp_path)
    whole.check(trainer, trainer.train(), tmp_path)
    other = settings()
    other["pytorch_seed"] = 14
    trainer = trained(other, tmp_path / "other")
    assert not same(weights(trainer.model), whole.weights)


@pytest.mark.slow
@pytest.mark.parametrize("batches", [[1], [2], [4], [5], [7], [8], [12], range(2, 13, 2)], ids=str)
def test_killed_in_any_batch(tmp_path, whole, batches):
    """Also in the first, before any checkpoint, in the last of an epoch, and again and again."""
    whole.check_killed(tmp_path, *map(KillAt, batches))


def end_of_epoch(trainer, epochs: int, batches: int) -> bool:
    return batches == 0


class KillIn(TrainerCallback):
    """Ends the run in `method` of the trainer's `part`, before it or after it, in one epoch."""

    def __init__(self, part: str, method: str, epoch: int, after: bool = False, when=lambda *args: True) -> None:
        super().__init__("")
        self.part, self.method, self.epoch, self.after, self.when = part, method, epoch, after, when

    def on_start(self, trainer, *args, **kwargs) -> None:
        owner = getattr(trainer, self.part) if self.part else trainer
        original = getattr(owner, self.method)

        def killing(*args, **kwargs):
            due = trainer._epochs_completed == self.epoch and self.when(*args)
            result = None if due and not self.after else original(*args, **kwargs)
            if due:
                raise Killed()
            return result

        setattr(owner, self.method, killing)


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [0, 1, 2])
@pytest.mark.parametrize(
    "kill",
    [
        # All batches of the epoch are done and saved, its validation is not.
        lambda epoch: KillIn("", "_validation_loss", epoch),
        lambda epoch: KillIn("", "_validation_loss", epoch, after=True),
        # The epoch's own checkpoint is written, the best weights are not.
        lambda epoch: KillIn("_checkpointer", "maybe_save_checkpoint", epoch + 1, True, end_of_epoch),
        lambda epoch: KillIn("_metric_tracker", "should_stop_early", epoch + 1),
    ],
    ids=["before_validation", "after_validation", "before_best", "after_best"],
)
def test_killed_between_epochs(tmp_path, whole, epoch, kill):
    whole.check_killed(tmp_path, kill(epoch))


OTHER = {
    "epochs": {"trainer__checkpointer": ...},
    "every_3rd": {"trainer__checkpointer": {"save_completed_epochs": False, "save_every_num_batches": 3}},
    "moving_average": {"trainer__moving_average": {"type": "exponential", "decay": 0.8}},
    "accumulation": {"trainer__num_gradient_accumulation_steps": 3, "trainer__loss_net__steps": 2},
    "fresh": {"trainer__fresh_batches": True, "trainer__first": "task_net", "trainer__task_net__steps": 2},
    "fresh_in_parts": {
        "trainer__fresh_batches": True,
        "trainer__loss_net__steps": 2,
        "data_loader": {"batch_size": 1, "shuffle": True, "batches_per_epoch": 5},
    },
    "phases": {"trainer__first": "task_net", "trainer__phases": [{"epochs": 1, "energy": False}, {}]},
    "adamw": {"trainer__task_net__optimizer": {"type": "huggingface_adamw", "lr": 1e-3}},
    "cosine": {"trainer__task_net__learning_rate_scheduler": {"type": "cosine", "t_initial": 2}},
    "shuffle": {"data_loader": {"batch_size": 2, "shuffle": True}},
    "reuse": {"trainer__reuse_features": True},
    "interleaved": {"trainer__interleaved": True, "trainer__task_net__steps": 2, "trainer__loss_net__steps": 2},
    "parts": {"data_loader": {"batch_size": 2, "shuffle": True, "batches_per_epoch": 3}},
    "workers": {"data_loader": {**SHUFFLED, "num_workers": 2}},
    # Batches of two processes, in passes that span epochs.
    "workers_in_parts": {
        "data_loader": {
            "batch_size": 2,
            "shuffle": True,
            "num_workers": 2,
            "max_instances_in_memory": 3,
            "batches_per_epoch": 3,
        }
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("more", OTHER.values(), ids=OTHER)
def test_killed_under_other_settings(tmp_path, more):
    built = settings(**more)
    if "task_net__optimizer" in str(more):
        del built["trainer"]["task_net"]["learning_rate_scheduler"]
    per_epoch = more.get("data_loader", {}).get("batches_per_epoch", 4)
    if "accumulation" in str(more) or "fresh" in str(more):
        per_epoch = -(-per_epoch // 2)
    Whole(built, tmp_path / "whole").check_killed(tmp_path / "killed", KillAt(2), KillAt(per_epoch + 2))


@pytest.mark.slow
@needs_bfloat16_lstms
def test_killed_in_mixed_precision(tmp_path):
    whole = Whole(settings(trainer__use_amp=True, trainer__cuda_device=-1), tmp_path / "whole")
    whole.check_killed(tmp_path / "killed", KillAt(2), KillAt(6))


@pytest.mark.slow
def test_killed_before_an_average_is_kept_as_the_best(tmp_path):
    built = settings(trainer__moving_average={"type": "exponential", "decay": 0.8})
    whole = Whole(built, tmp_path / "whole")
    for epoch in range(3):
        kill = KillIn("_checkpointer", "maybe_save_checkpoint", epoch + 1, True, end_of_epoch)
        whole.check_killed(tmp_path / str(epoch), kill)


def test_what_is_kept_as_the_best_overwrites_no_checkpoint(tmp_path):
    """`best.th` of the first epoch is a hard link to that epoch's checkpoint."""
    built = settings(trainer__checkpointer={"keep_most_recent_by_count": 9}, trainer__validation_metric="-loss")
    train_until_killed(built, tmp_path, KillIn("_checkpointer", "maybe_save_checkpoint", 2, True, end_of_epoch))
    first, second = (torch.load(tmp_path / f"model_state_e{epoch}_b0.th") for epoch in (1, 2))
    assert same(torch.load(tmp_path / "best.th"), first)
    build(built, tmp_path)._maybe_restore_checkpoint()
    assert same(torch.load(tmp_path / "best.th"), second)
    assert same(torch.load(tmp_path / "model_state_e1_b0.th"), first)


def unmoved(**more: Any) -> dict[str, Any]:
    """A task-net that stays as it is, so that the first epoch is the best."""
    built = settings(trainer__task_net__optimizer__lr=0.0, trainer__task_net__steps=1, **more)
    del built["trainer"]["task_net"]["learning_rate_scheduler"]
    return built


def test_killed_after_patience_ran_out(tmp_path):
    """A recovered run does not train on."""
    whole = Whole(unmoved(trainer__patience=1), tmp_path / "whole")
    assert whole.metrics["epoch"] == 1
    whole.check_killed(tmp_path / "killed", KillIn("", "_load_model_state", 2))


def test_a_folder_that_was_moved(tmp_path):
    """The best epoch is one from before; its weights are loaded at the end."""
    whole = Whole(unmoved(), tmp_path / "whole")
    assert whole.metrics["best_epoch"] == 0
    train_until_killed(whole.built, tmp_path / "before", KillAt(7))
    after = (tmp_path / "before").rename(tmp_path / "after")
    trainer = build(whole.built, after)
    whole.check(trainer, trainer.train(), after)


def test_a_torn_checkpoint_is_passed_over(tmp_path, whole):
    for kind in ("model_state", "training_state"):
        folder = tmp_path / kind
        train_until_killed(settings(), folder, KillAt(7))
        newest = folder / f"{kind}_e1_b2.th"
        content = newest.read_bytes()
        newest.write_bytes(content[: len(content) // 2])
        trainer = build(settings(), folder)
        whole.check(trainer, trainer.train(), folder)


def test_another_trainers_checkpoint_ends_in_a_sentence(tmp_path):
    built = config("cross_entropy", **{"trainer__type": "gradient_descent"})
    built["trainer"].update(built["trainer"].pop("task_net"))
    build(built, tmp_path).train()
    with pytest.raises(ConfigurationError) as error:
        build(config("cross_entropy"), tmp_path).train()
    assert str(tmp_path) in describe(error.value)


@pytest.mark.slow
def test_sigkill_of_the_command(tmp_path):
    """`seal train`, ended by the system in the middle of an epoch, and `--recover`."""
    built = settings(**{**STATIC, "trainer__num_epochs": 6})
    file, killed = tmp_path / "config.json", tmp_path / "killed"
    file.write_text(json.dumps(built), encoding="utf-8")
    run = Forked("seal", "train", str(file), "-s", str(killed), cwd=ROOT)
    # It ends by itself, however busy the machine is.
    while run.poll() is None:
        if list(killed.glob("model_state_e[1-5]_b[1-4].th")):
            run.send_signal(signal.SIGKILL)
            break
        time.sleep(0.002)
    run.communicate()
    assert run.returncode == -signal.SIGKILL and not (killed / "model.tar.gz").exists()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    again = subprocess.Popen(
        [sys.executable, "-m", "seal", "train", str(file), "-s", str(killed), "--recover"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    whole = Whole(built, tmp_path / "whole")
    told = again.communicate()[1]
    assert again.returncode == 0, told[-2000:]
    assert same(torch.load(killed / "best.th"), whole.best)
    assert comparable(json.loads((killed / "metrics.json").read_text())) == whole.metrics
    last = "model_state_e6_b0.th"
    assert same(torch.load(killed / last), torch.load(tmp_path / "whole" / last))


@pytest.fixture(scope="module")
def whole_static(tmp_path_factory) -> Whole:
    return Whole(settings(**STATIC), tmp_path_factory.mktemp("static"))


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 3, 4, 5, 6, 8, 9, 10, 12, 13, 16])
def test_killed_in_any_phase(tmp_path, whole_static, batch):
    whole_static.check_killed(tmp_path, KillAt(batch))


@pytest.mark.slow
@pytest.mark.parametrize("epoch", [0, 1, 2])
@pytest.mark.parametrize(
    "kill",
    [
        lambda epoch: KillIn("", "_validation_loss", epoch),
        lambda epoch: KillIn("_checkpointer", "maybe_save_checkpoint", epoch + 1, True, end_of_epoch),
        lambda epoch: KillIn("phases", "enter", epoch + 1),
        lambda epoch: KillIn("phases", "enter", epoch + 1, after=True),
    ],
    ids=["before_validation", "before_best", "before_the_phase", "after_its_start"],
)
def test_killed_between_phases(tmp_path, whole_static, epoch, kill):
    whole_static.check_killed(tmp_path, kill(epoch))


def test_killed_in_every_phase(tmp_path, whole_static):
    whole_static.check_killed(tmp_path, *map(KillAt, (2, 6, 9, 14)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {"trainer__checkpointer": ...},
        {"trainer__moving_average": {"type": "exponential", "decay": 0.8}},
        {"trainer__task_net__learning_rate_scheduler": PLATEAU, "trainer__patience": 1},
        {"trainer__loss_net__learning_rate_scheduler": LINEAR, "trainer__loss_net__steps": 2},
    ],
    ids=["epochs", "moving_average", "plateau", "linear"],
)
def test_killed_in_every_phase_under_other_settings(tmp_path, more):
    whole = Whole(settings(**STATIC, **more), tmp_path / "whole")
    whole.check_killed(tmp_path / "killed", *map(KillAt, (3, 6, 10)))


@pytest.mark.slow
@pytest.mark.parametrize("batch", [6, 9, 11])
def test_killed_where_a_phase_starts_from_the_best_epoch_of_the_last(tmp_path, batch):
    phases = [{"epochs": 2, "train": "loss_net", "validation_metric": "-loss_net_loss"}, {}]
    built = settings(trainer__phases=phases, trainer__loss_net__optimizer={"type": "fused_adamw", "lr": 0.5})
    Whole(built, tmp_path / "whole").check_killed(tmp_path / "killed", KillAt(batch))


def test_a_start_that_cannot_come_back_is_told(tmp_path, caplog):
    built = settings(**STATIC)
    train_until_killed(built, tmp_path, KillAt(6))
    for seed, other in ((13, False), (14, True)):
        built["pytorch_seed"] = seed
        build(built, tmp_path)._maybe_restore_checkpoint()
        assert other == any("constructed with other weights" in line.getMessage() for line in caplog.records)


# Segmentation, of which crops and mirroring come from torch's generator.


def config_of_shapes(path, checkpointer):
    """Dropout draws between the batches' draws."""
    player = {"optimizer": {"type": "adam", "lr": 0.01}}
    sampler = {"type": "correlated_draws", "num_samples": 3, "num_fields": 2}
    return shapes_run(
        path,
        {**segmentation.seal_parts(sampler=sampler), "task_net": {**segmentation.TASK_NET, "dropout": 0.3}},
        num_epochs=4,
        checkpointer=checkpointer,
        validation_metric="+mean_iou",
        task_net=player,
        loss_net=player,
    )


def test_validation_data_are_the_same_in_each_pass(tmp_path):
    """Told before the first epoch."""
    settings = config_of_shapes(segmentation.write_npz(tmp_path), {})
    settings["validation_dataset_reader"]["mirror"] = True
    with pytest.raises(ConfigurationError, match="validation_dataset_reader"):
        train_model(Params(copy.deepcopy(settings)), str(tmp_path / "run"))
    assert not list((tmp_path / "run").glob("metrics_epoch_*"))


@pytest.mark.slow
@pytest.mark.parametrize("checkpointer", [{"save_every_num_batches": 1}, {}])
@pytest.mark.parametrize("batch", [2, 5])
def test_killed_between_crops(tmp_path, batch, checkpointer):
    """In the first of four epochs, and in the second; with checkpoints of each batch, and of epochs alone."""
    built = config_of_shapes(segmentation.write_npz(tmp_path), checkpointer)
    Whole(built, tmp_path / "whole").check_killed(tmp_path / "killed", KillAt(batch))
