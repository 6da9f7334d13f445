import logging

import pytest
import torch
from allennlp.common import Params
from allennlp.training import Checkpointer, TrainerCallback

from seal.allennlp.error_sentences import describe
from seal.training import NonFiniteLoss, ResumableCheckpointer
from tests.training.runs import DATA, build, config


class OneTrainer:
    def __init__(self, epochs, batches):
        self.counts = {"epochs_completed": epochs, "batches_in_epoch_completed": batches}

    def get_checkpoint_state(self):
        from allennlp.training.trainer import TrainerCheckpoint

        return TrainerCheckpoint({"weight": torch.arange(1000.0)}, dict(self.counts))


@pytest.fixture
def checkpointer(tmp_path):
    made = ResumableCheckpointer(str(tmp_path), keep_most_recent_by_count=3)
    for counts in ((0, 2), (1, 0), (1, 1)):
        made.save_checkpoint(OneTrainer(*counts))
    return made


def names(found):
    return [path.rpartition("/")[2] for path in found]


def test_the_newest(checkpointer):
    assert names(checkpointer.find_latest_checkpoint()) == ["model_state_e1_b1.th", "training_state_e1_b1.th"]


@pytest.mark.parametrize("kind", ["model_state", "training_state"])
@pytest.mark.parametrize("size", [0, 1, 100, 0.5, -1])
def test_a_torn_file_is_passed_over_and_removed(checkpointer, tmp_path, caplog, kind, size):
    file = tmp_path / f"{kind}_e1_b1.th"
    content = file.read_bytes()
    file.write_bytes(content[: int(size * len(content)) if 0 < size < 1 else size])
    with caplog.at_level(logging.WARNING):
        found = names(checkpointer.find_latest_checkpoint())
    assert found == ["model_state_e1_b0.th", "training_state_e1_b0.th"]
    assert "incomplete or damaged checkpoint" in caplog.text
    # AllenNLP never writes over a file: left behind, the torn one would count as the new one.
    assert not list(tmp_path.glob("*_e1_b1.th"))
    checkpointer.save_checkpoint(OneTrainer(1, 1))
    assert checkpointer.load_checkpoint().trainer_state["batches_in_epoch_completed"] == 1


@pytest.mark.parametrize("kind", ["model_state", "training_state"])
@pytest.mark.parametrize("place, damage", [(0.5, 1), (0.5, 4096), (0.02, 1), (0.98, 1), (0.0, 1)])
def test_a_damaged_file_is_passed_over(checkpointer, tmp_path, caplog, kind, place, damage):
    """A flipped byte, or a page of zeros."""
    file = tmp_path / f"{kind}_e1_b1.th"
    content = bytearray(file.read_bytes())
    start = min(int(place * len(content)), len(content) - damage) if damage < len(content) else 0
    end = start + damage
    content[start:end] = bytes(len(content[start:end])) if damage > 1 else bytes([content[start] ^ 0xFF])
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        found = names(checkpointer.find_latest_checkpoint())
    # What torch pads its parts with has no meaning, and no checksum.
    padding = found == ["model_state_e1_b1.th", "training_state_e1_b1.th"] and "damaged" not in caplog.text
    assert padding or found == ["model_state_e1_b0.th", "training_state_e1_b0.th"]
    if padding:
        assert torch.equal(torch.load(tmp_path / "model_state_e1_b1.th")["weight"], torch.arange(1000.0))
        assert torch.load(tmp_path / "training_state_e1_b1.th")["batches_in_epoch_completed"] == 1


def test_a_flipped_bit_of_a_weight_is_seen(checkpointer, tmp_path):
    """Which torch would load."""
    file = tmp_path / "model_state_e1_b1.th"
    content = bytearray(file.read_bytes())
    weights = torch.arange(1000.0).numpy().tobytes()
    content[content.index(weights) + 2000] ^= 1
    file.write_bytes(content)
    assert not torch.equal(torch.load(file)["weight"], torch.arange(1000.0))
    assert names(checkpointer.find_latest_checkpoint())[0] == "model_state_e1_b0.th"


def test_a_missing_half(checkpointer, tmp_path):
    (tmp_path / "training_state_e1_b1.th").unlink()
    (tmp_path / "training_state_e1_b0.th").unlink()
    assert names(checkpointer.find_latest_checkpoint()) == ["model_state_e0_b2.th", "training_state_e0_b2.th"]


def test_nothing_whole(checkpointer, tmp_path):
    for file in tmp_path.glob("model_state*"):
        file.write_bytes(b"")
    assert checkpointer.find_latest_checkpoint() is None
    assert checkpointer.load_checkpoint() is None


def test_other_workers_look_and_do_not_touch(checkpointer, tmp_path):
    (tmp_path / "model_state_e1_b1.th").write_bytes(b"")
    checkpointer._rank = 1
    assert names(checkpointer.find_latest_checkpoint())[0] == "model_state_e1_b0.th"
    assert (tmp_path / "training_state_e1_b1.th").exists()


def test_a_config_that_names_no_type_means_this_one(tmp_path):
    made = Checkpointer.from_params(Params({"save_every_num_batches": 3}), serialization_dir=str(tmp_path))
    assert type(made) is ResumableCheckpointer and made._save_every_num_batches == 3
    plain = Checkpointer.from_params(Params({"type": "default"}), serialization_dir=str(tmp_path))
    assert type(plain) is Checkpointer


def test_all_workers_save_at_the_same_batches(tmp_path):
    """All take part in a checkpoint, and the first writes it."""

    class Worker:
        def __init__(self, rank):
            self.place, self.saved, self.rank = (0, 0), [], rank

        def get_checkpoint_state(self):
            self.saved.append(self.place)
            return None if self.rank else OneTrainer(*self.place).get_checkpoint_state()

    workers = [Worker(0), Worker(1)]
    for worker in workers:
        made = ResumableCheckpointer(str(tmp_path), save_every_num_batches=3)
        made._rank = worker.rank
        for worker.place in [(0, batch) for batch in range(1, 8)] + [(1, batch) for batch in range(8)]:
            made.maybe_save_checkpoint(worker, *worker.place)
    assert workers[0].saved == workers[1].saved == [(0, 3), (0, 6), (1, 0), (1, 3), (1, 6)]


# Training that diverges ends in one sentence, which names the last good checkpoint.


def breaking(trainer, monkeypatch, player, where, call):
    """At the given call, the player's loss is NaN, or 0 with an infinite gradient."""
    model, calls = trainer.model, []
    original = getattr(model, f"{player}_loss")

    def broken(*args, **settings):
        loss = original(*args, **settings)
        if model.training:
            calls.append(loss)
        if len(calls) == call:
            nothing = sum(p.sum() for p in getattr(model, f"{player}_parameters")()) * 0
            return loss + ((nothing.abs() + 0.0).sqrt() if where == "gradient" else nothing + float("nan"))
        return loss

    monkeypatch.setattr(model, f"{player}_loss", broken)


@pytest.mark.parametrize("player", ["task_net", "loss_net"])
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_loss_that_is_no_number_stops_the_run(tmp_path, monkeypatch, player, where):
    trainer = build(config(epochs=3), tmp_path)
    breaking(trainer, monkeypatch, player, where, 7)  # The third batch of the second epoch.
    with pytest.raises(NonFiniteLoss) as error:
        trainer.train()
    told = describe(error.value)
    assert f"{player}'s {where}" in told and "batch 3 of epoch 1" in told and f"trainer.{player}" in told
    assert str(tmp_path / "model_state_e1_b0.th") in told
    state = torch.load(tmp_path / "model_state_e1_b0.th")
    assert all(torch.isfinite(value).all() for value in state.values())


class Break(TrainerCallback):
    """Sets the weights of a net after the given update."""

    def __init__(self, batch: int, value: float, net: str = "task_net") -> None:
        super().__init__("")
        self.batch, self.value, self.net = batch, value, net

    def on_batch(self, trainer, *args, is_training=True, **kwargs) -> None:
        if is_training and trainer._total_batches_completed == self.batch:
            for parameter in getattr(trainer.model, self.net).parameters():
                parameter.data.fill_(self.value)


def stopped(trainer, *callbacks: TrainerCallback) -> str:
    trainer._callbacks.extend(callbacks)
    with pytest.raises(NonFiniteLoss) as error:
        trainer.train()
    return describe(error.value)


def test_a_loss_net_that_diverges_is_named_where_the_task_net_follows_it(tmp_path):
    # It is updated after the task-net, which follows it in the next batch.
    told = stopped(build(config(epochs=3, trainer__first="task_net"), tmp_path), Break(6, float("inf"), "loss_net"))
    assert "batch 3 of epoch 1" in told and "trainer.loss_net.optimizer.lr" in told
    assert "trainer.task_net" not in told


def test_a_gradient_may_be_infinite_because_of_either_net(tmp_path, monkeypatch):
    trainer = build(config(epochs=3), tmp_path)
    breaking(trainer, monkeypatch, "task_net", "gradient", 2)
    told = stopped(trainer)
    assert "trainer.task_net.optimizer.lr" in told and "trainer.loss_net.optimizer.lr" in told
    # Where no loss-net moves, it is not to blame.
    trainer = build(config("cross_entropy"), tmp_path / "alone")
    breaking(trainer, monkeypatch, "task_net", "gradient", 2)
    assert "trainer.loss_net" not in stopped(trainer)


@pytest.mark.parametrize("value", [1e38, float("nan")])
def test_outputs_of_the_last_update_that_cannot_be_scored_stop_the_run(tmp_path, value):
    trainer = build(config(epochs=3), tmp_path)
    told = stopped(trainer, Break(8, value))
    assert "batch 4 of epoch 1" in told and "trainer.task_net.optimizer.lr" in told
    assert value != 1e38 or f"({DATA}:" in told
    # Its checkpoint was not written, and that of the epoch before is the best.
    assert str(tmp_path / "model_state_e1_b0.th") in told
    assert not (tmp_path / "model_state_e2_b0.th").exists()
    assert all(value.isfinite().all() for value in torch.load(tmp_path / "best.th").values())


def test_without_validation_data_a_checkpoint_is_good_once_a_loss_under_it_was_finite(tmp_path):
    settings = config(epochs=3, validation_data_path=..., trainer__validation_metric="-loss")
    told = stopped(build(settings, tmp_path), Break(8, 1e38))
    assert "at batch 1 of epoch 2" in told and (tmp_path / "model_state_e2_b0.th").exists()
    assert str(tmp_path / "model_state_e1_b0.th") in told
    # The recovered run fails at once: of the two checkpoints it is the earlier that is good.
    told = stopped(build(settings, tmp_path))
    assert "at batch 1 of epoch 2" in told and str(tmp_path / "model_state_e1_b0.th") in told


def test_the_only_checkpoint_may_be_a_bad_one(tmp_path):
    settings = config(epochs=2, validation_data_path=..., trainer__validation_metric="-loss")
    assert "model_state" not in stopped(build(settings, tmp_path), Break(4, 1e38))


@pytest.mark.parametrize("method", ["nce", "cross_entropy"])
def test_a_task_loss_that_draws_has_nothing_to_draw_from(tmp_path, method):
    settings = config(method, model__task_loss={"type": "task_net_ranking"})
    told = stopped(build(settings, tmp_path), Break(2, 1e38))
    assert "task_net's output" in told and "batch 3 of epoch 0" in told


@pytest.mark.parametrize("net", ["task_net", "loss_net"])
def test_weights_of_the_last_update_that_are_no_numbers_stop_the_run(tmp_path, net):
    settings = config(validation_data_path=..., trainer__validation_metric="-loss")
    told = stopped(build(settings, tmp_path), Break(4, float("inf"), net))
    assert f"{net}'s weights" in told and "batch 4 of epoch 0" in told
