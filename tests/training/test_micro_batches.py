"""Gradient accumulation, over groups that both players see whole."""

import pytest
import torch
from allennlp.data import DataLoader

from seal.training.micro_batches import BatchGroup, GroupedLoader, micro_batches
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


def test_the_rest_is_the_loaders():
    inner = Loader([])
    loader = GroupedLoader(inner, 2)
    loader.index_with("vocabulary")
    loader.set_target_device(torch.device("cpu"))
    assert (inner.vocab, inner.device) == ("vocabulary", torch.device("cpu"))
    assert list(loader.iter_instances()) == ["a", "b"]
    with pytest.raises(TypeError):
        len(GroupedLoader(Loader([], counted=False), 2))


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


def test_both_players_see_the_whole_group_before_the_second_moves(tmp_path):
    """And to save memory no graph of the task-net waits: it runs once without one, then once with."""
    trainer = build(config(trainer__num_gradient_accumulation_steps=4, trainer__loss_net__steps=3), tmp_path)
    turns = []
    for name in ("task_net", "loss_net"):
        original = getattr(trainer.model, f"{name}_loss")

        def recording(*args, original=original, name=name):
            turns.append(name)
            return original(*args)

        setattr(trainer.model, f"{name}_loss", recording)
    with counted(trainer.model.task_net) as passes:
        trainer._train_epoch(0)
    assert turns == ["loss_net"] * 12 + ["task_net"] * 4
    assert passes == [False] * 4 + [True] * 4
    assert len(trainer.optimizer.players) == 2
