"""Gradient accumulation, over groups that both players see whole, and several updates on a batch each."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader

from seal.training.batch_groups import BatchGroup, GroupedLoader, micro_batches, updates_on_fresh_batches
from seal.two_player import TwoPlayerStep, Updates
from tests.training.runs import build, config, counted, distance, weights


class Loader(DataLoader):
    def __init__(self, batches, counted=True):
        self.batches, self.counted, self.device, self.vocab = batches, counted, None, None

    def __len__(self):
        if not self.counted:
            raise TypeError("a lazy loader has no length")
        return len(self.batches)

    def __iter__(self):
        return iter(self.batches)

    def iter_instances(self):
        return iter("ab")

    def index_with(self, vocab):
        self.vocab = vocab

    def set_target_device(self, device):
        self.device = device


def test_groups():
    batches = [{"tokens": torch.tensor(i)} for i in range(5)]
    loader = GroupedLoader(Loader(batches), 2)
    groups = list(loader)
    assert len(loader) == len(groups) == 3
    assert [list(group) for group in groups] == [["batch_0", "batch_1"]] * 2 + [["batch_0"]]
    assert [part.batch for group in groups for part in micro_batches(group)] == batches
    assert list(loader) == groups
    # A batch alone is a group of one.
    assert [part.batch for part in micro_batches(batches[0])] == batches[:1]
    assert isinstance(groups[0], BatchGroup) and isinstance(groups[0], dict)


@pytest.mark.parametrize(
    "first, share, reuse",
    [
        ("loss_net", False, False),
        ("loss_net", False, True),
        ("loss_net", True, False),
        ("task_net", False, False),
        ("task_net", False, True),
        ("task_net", True, False),
    ],
)
def test_two_batches_equal_one_of_twice_the_size(tmp_path, first, share, reuse):
    """The margin loss without dropout, which draws nothing. 4 frames, so that the halves weigh the same."""
    runs = []
    for size, group in ((4, 1), (2, 2), (1, 4)):
        settings = config(
            "margin",
            share_encoder=share,
            dropout=0.0,
            batch_size=size,
            epochs=3,
            dataset_reader__predicate_instances=False,
            dataset_reader__max_instances=4,
            trainer__first=first,
            trainer__reuse_features=reuse,
            trainer__num_gradient_accumulation_steps=group,
            trainer__loss_net__steps=2,
            trainer__task_net__steps=2,
            trainer__task_net__learning_rate_scheduler={"type": "linear_with_warmup", "warmup_steps": 2},
        )
        trainer = build(settings, tmp_path / str(group))
        trainer.model.double()
        metrics = trainer.train()
        runs.append((weights(trainer.model), metrics["training_loss"], metrics["training_loss_net_loss"]))
    for other in runs[1:]:
        assert distance(runs[0][0], other[0]) < 1e-9
        assert runs[0][1:] == pytest.approx(other[1:])


def test_a_group_that_is_not_full_is_a_mean_of_its_own(tmp_path):
    """8 rows in batches of 2 make groups of 3 batches and 1; the last weighs like a batch of its own."""
    runs = []
    for group in (3, 1):
        settings = config("margin", dropout=0.0, trainer__num_gradient_accumulation_steps=group)
        trainer = build(settings, tmp_path / str(group))
        trainer.model.double()
        for parameter in trainer.model.parameters():
            parameter.data.fill_(0.01)
        data = list(trainer.data_loader)
        if group == 3:
            assert [len(part) for part in data] == [3, 1]
            data = data[1:]
        else:
            data = data[3:]
        trainer.model.train()
        trainer.training_loss(data[0]).backward()
        runs.append([p.grad for p in trainer.model.task_net_parameters()])
    assert all(torch.allclose(a, b) for a, b in zip(*runs) if a is not None)


def test_both_players_see_the_whole_group_before_the_second_moves(tmp_path, watch):
    """And to save memory no graph of the task-net waits: it runs once without one, then once with."""
    trainer = build(config(trainer__num_gradient_accumulation_steps=4, trainer__loss_net__steps=3), tmp_path)
    turns = []
    for name in ("task_net", "loss_net"):
        watch(trainer.model, f"{name}_loss", lambda *_, name=name: turns.append(name))
    with counted(trainer.model.task_net) as passes:
        trainer._train_epoch(0)
    assert turns == ["loss_net"] * 12 + ["task_net"] * 4
    assert passes == [False] * 4 + [True] * 4
    assert len(trainer.optimizer.players) == 2


# Fresh batches.

TASK, LOSS = "task_net", "loss_net"


@pytest.mark.parametrize(
    "turns, accumulated, batches, expected, alone",
    [
        # The paper's order: k steps of the networks, and then one of the energy on the last of their batches.
        ([TASK] * 3 + [LOSS], 1, 3, [(TASK, "a"), (TASK, "b"), (TASK, "c"), (LOSS, "c")], "c"),
        ([LOSS] + [TASK] * 3, 1, 3, [(LOSS, "a"), (TASK, "a"), (TASK, "b"), (TASK, "c")], "a"),
        ([LOSS] * 2 + [TASK] * 3, 1, 3, [(LOSS, "a"), (LOSS, "b"), (TASK, "a"), (TASK, "b"), (TASK, "c")], "a"),
        ([TASK] * 3 + [LOSS] * 2, 1, 3, [(TASK, "a"), (TASK, "b"), (TASK, "c"), (LOSS, "b"), (LOSS, "c")], "b"),
        ([TASK] * 2 + [LOSS], 2, 4, [(TASK, "ab"), (TASK, "cd"), (LOSS, "cd")], ""),
        # The last of an epoch.
        ([TASK] * 3 + [LOSS], 1, 2, [(TASK, "a"), (TASK, "b"), (TASK, "a"), (LOSS, "a")], "a"),
        ([TASK] * 2 + [LOSS], 2, 3, [(TASK, "ab"), (TASK, "c"), (LOSS, "c")], "c"),
        ([TASK] * 2 + [LOSS], 2, 1, [(TASK, "a"), (TASK, "a"), (LOSS, "a")], "a"),
        ([TASK] * 2, 1, 2, [(TASK, "a"), (TASK, "b")], "ab"),
    ],
)
def test_which_batches_make_which_update(turns, accumulated, batches, expected, alone):
    parts = micro_batches(BatchGroup((f"batch_{i}", {"name": "abcd"[i]}) for i in range(batches)))
    updates = updates_on_fresh_batches(parts, turns, accumulated)
    assert [(player, "".join(part.batch["name"] for part in group)) for player, group in updates] == expected
    assert "".join(part.batch["name"] for part in parts if part.alone) == alone


@pytest.mark.parametrize(
    "first, steps, share, reuse",
    [
        (TASK, (3, 1), False, False),
        (LOSS, (3, 1), False, False),
        (LOSS, (3, 2), False, False),
        (LOSS, (2, 3), True, False),
        (TASK, (3, 2), True, False),
        (TASK, (3, 2), False, True),
    ],
)
def test_each_update_is_that_of_its_batch_alone(tmp_path, first, steps, share, reuse):
    """Against a loop that keeps nothing from one update to the next. Four batches: three, and one taken three times."""
    settings = config(
        "margin",
        share_encoder=share,
        dropout=0.0,
        validation_data_path=...,
        trainer__validation_metric="-loss",
        trainer__first=first,
        trainer__reuse_features=reuse,
        trainer__fresh_batches=True,
        trainer__task_net__steps=steps[0],
        trainer__loss_net__steps=steps[1],
    )
    trainer = build(settings, tmp_path / "fresh")
    trainer.model.double()
    other = build(settings, tmp_path / "by_hand")
    nets = other.model.double().train()
    step = TwoPlayerStep(
        nets, **{name: Updates(optimizer, grad_norm=10.0) for name, optimizer in other.optimizer.players.items()}
    )
    groups = [[part.batch for part in micro_batches(group)] for group in other.data_loader]
    assert [len(group) for group in groups] == [3, 1] and len(trainer.data_loader) == 2
    trainer.train()
    for group in groups:
        for player in sorted((TASK, LOSS), key=lambda name: name != first):
            count = steps[player == LOSS]
            places = range(count) if player == first else range(max(steps) - count, max(steps))
            for place in places:
                step.update(player, step.begin(group[place % len(group)]))
    assert distance(weights(trainer.model), weights(nets)) < 1e-9


def test_draws_dropout_and_shared_features_on_fresh_batches(tmp_path):
    """No graph that one update has freed or made stale is used by another."""
    for first in (TASK, LOSS):
        settings = config(
            epochs=2,
            trainer__first=first,
            trainer__reuse_features=True,
            trainer__fresh_batches=True,
            trainer__task_net__steps=3,
            trainer__loss_net__steps=2,
        )
        trainer = build(settings, tmp_path / first)
        with counted(trainer.model.task_net) as passes:
            trainer._train_epoch(0)
        # Each of the six updates of the task-net has a pass with a graph. The loss-net needs two more in the first
        # group and one in the last, of one batch; in each one less where the task-net takes over its graph.
        assert sum(passes) == 6 and len(passes) == (9 if first == TASK else 7)


@pytest.mark.parametrize(
    "more, told",
    [
        ({}, "trainer.fresh_batches"),
        (
            {"trainer__task_net__steps": 3, "trainer__phases": [{"epochs": 1, "train": "loss_net"}, {}]},
            "trainer.fresh_batches.*trainer.loss_net.steps",
        ),
    ],
)
def test_fresh_batches_that_change_nothing_or_leave_data_out(tmp_path, more, told):
    with pytest.raises(ConfigurationError, match=told):
        build(config(epochs=2, trainer__fresh_batches=True, **more), tmp_path)
