"""Training that diverges ends in one sentence, which names the last good checkpoint."""

import pytest
import torch
from allennlp.training import TrainerCallback

from seal.allennlp.error_sentences import describe
from seal.training import NonFiniteLoss
from tests.training.runs import DATA, build, config


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
    assert told.startswith(f"the {player}'s {where} is") and "\n" not in told
    assert "batch 3 of epoch 1" in told
    assert f"the last good checkpoint is {tmp_path / 'model_state_e1_b0.th'}. Lower trainer.{player}" in told
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
    assert told.startswith("the loss_net's energy of the task_net's output is ") and "batch 3 of epoch 1" in told
    assert "Lower trainer.loss_net.optimizer.lr or set trainer.loss_net.grad_norm, and train" in told


def test_a_gradient_may_be_infinite_because_of_either_net(tmp_path, monkeypatch):
    trainer = build(config(epochs=3), tmp_path)
    breaking(trainer, monkeypatch, "task_net", "gradient", 2)
    told = stopped(trainer)
    assert "Lower trainer.task_net.optimizer.lr and trainer.loss_net.optimizer.lr or set trainer.task_net.grad" in told
    # Where no loss-net moves, it is not to blame.
    trainer = build(config("cross_entropy"), tmp_path / "alone")
    breaking(trainer, monkeypatch, "task_net", "gradient", 2)
    assert "Lower trainer.task_net.optimizer.lr or set trainer.task_net.grad_norm, and train" in stopped(trainer)


@pytest.mark.parametrize("value", [1e38, float("nan")])
def test_outputs_of_the_last_update_that_cannot_be_scored_stop_the_run(tmp_path, value):
    trainer = build(config(epochs=3), tmp_path)
    told = stopped(trainer, Break(8, value))
    what = "output on validation data (" if value == 1e38 else "weights are not finite after batch"
    assert told.startswith(f"the task_net's {what}") and "\n" not in told
    assert "after batch 4 of epoch 1, so training stops" in told and "Lower trainer.task_net.optimizer.lr" in told
    assert value != 1e38 or f"({DATA}:" in told
    # Its checkpoint was not written, and that of the epoch before is the best.
    assert f"the last good checkpoint is {tmp_path / 'model_state_e1_b0.th'}." in told
    assert not (tmp_path / "model_state_e2_b0.th").exists()
    assert all(value.isfinite().all() for value in torch.load(tmp_path / "best.th").values())


def test_without_validation_data_a_checkpoint_is_good_once_a_loss_under_it_was_finite(tmp_path):
    settings = config(epochs=3, validation_data_path=..., trainer__validation_metric="-loss")
    told = stopped(build(settings, tmp_path), Break(8, 1e38))
    assert "at batch 1 of epoch 2" in told and (tmp_path / "model_state_e2_b0.th").exists()
    assert f"the last good checkpoint is {tmp_path / 'model_state_e1_b0.th'}." in told
    # The recovered run fails at once: of the two checkpoints it is the earlier that is good.
    told = stopped(build(settings, tmp_path))
    assert "at batch 1 of epoch 2" in told
    assert f"the last good checkpoint is {tmp_path / 'model_state_e1_b0.th'}." in told


def test_the_only_checkpoint_may_be_a_bad_one(tmp_path):
    settings = config(epochs=2, validation_data_path=..., trainer__validation_metric="-loss")
    assert "no checkpoint is known to be good. Lower" in stopped(build(settings, tmp_path), Break(4, 1e38))


@pytest.mark.parametrize("method", ["nce", "cross_entropy"])
def test_a_task_loss_that_draws_has_nothing_to_draw_from(tmp_path, method):
    settings = config(method, model__task_loss={"type": "task_net_ranking"})
    told = stopped(build(settings, tmp_path), Break(2, 1e38))
    assert told.startswith("the task_net's output is no longer finite at batch 3 of epoch 0, so training stops")


@pytest.mark.parametrize("net", ["task_net", "loss_net"])
def test_weights_of_the_last_update_that_are_no_numbers_stop_the_run(tmp_path, net):
    settings = config(validation_data_path=..., trainer__validation_metric="-loss")
    told = stopped(build(settings, tmp_path), Break(4, float("inf"), net))
    assert told.startswith(f"the {net}'s weights are not finite after batch 4 of epoch 0, so training stops; no checkp")


def test_where_there_is_no_checkpoint_yet(tmp_path, monkeypatch):
    trainer = build(config(), tmp_path)
    breaking(trainer, monkeypatch, "task_net", "loss", 1)
    with pytest.raises(NonFiniteLoss, match="no checkpoint has been saved. Lower"):
        trainer.train()
