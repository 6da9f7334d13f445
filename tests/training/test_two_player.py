import copy

import pytest
import torch
from allennlp.common import Params
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from seal.training import TwoPlayerOptimizer, TwoPlayerScheduler


def parameters():
    return {name: torch.nn.Parameter(torch.ones(2)) for name in ("loss_net", "task_net")}


def optimizers(theirs):
    return {
        "loss_net": torch.optim.SGD([theirs["loss_net"]], lr=1.0, momentum=0.5),
        "task_net": torch.optim.Adam([theirs["task_net"]], lr=0.1),
    }


def test_only_the_player_whose_turn_it_is_moves():
    theirs = parameters()
    optimizer = TwoPlayerOptimizer(optimizers(theirs))
    for parameter in theirs.values():
        parameter.grad = torch.ones(2)
    assert optimizer.turn == "loss_net"
    optimizer.step()
    assert theirs["loss_net"].tolist() == [0.0, 0.0] and theirs["task_net"].tolist() == [1.0, 1.0]
    optimizer.turn = "task_net"
    assert optimizer.parameters() == [theirs["task_net"]]
    optimizer.step()
    assert theirs["loss_net"].tolist() == [0.0, 0.0]
    assert theirs["task_net"].tolist() == pytest.approx([0.9, 0.9])
    # Each keeps its own count of steps and momentum.
    assert optimizer.players["task_net"].state[theirs["task_net"]]["step"] == 1


def test_no_gradient_of_either_player_is_left_over():
    theirs = parameters()
    optimizer = TwoPlayerOptimizer(optimizers(theirs))
    for parameter in theirs.values():
        parameter.grad = torch.ones(2)
    optimizer.zero_grad()
    assert all(parameter.grad is None for parameter in theirs.values())


def test_groups_of_both_are_on_show():
    optimizer = TwoPlayerOptimizer(optimizers(parameters()))
    assert [group["lr"] for group in optimizer.param_groups] == [1.0, 0.1]


def test_state_goes_round():
    first, second = parameters(), parameters()
    optimizer = TwoPlayerOptimizer(optimizers(first))
    for parameter in first.values():
        parameter.grad = torch.ones(2)
    for turn in ("loss_net", "task_net"):
        optimizer.turn = turn
        optimizer.step()
    other = TwoPlayerOptimizer(optimizers(second))
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for name in first:
        second[name].data.copy_(first[name].data)
    for theirs, made in ((first, optimizer), (second, other)):
        for turn in ("loss_net", "task_net"):
            theirs[turn].grad = torch.full((2,), 0.3)
            made.turn = turn
            made.step()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_every_restart_is_the_first_state():
    """Adagrad fills its state as it is made, and adds to it in place."""
    parameter = torch.nn.Parameter(torch.zeros(2))
    adagrad = torch.optim.Adagrad([parameter], lr=1.0, initial_accumulator_value=0.25)
    optimizer = TwoPlayerOptimizer({"task_net": adagrad})
    for _ in range(2):
        parameter.grad = torch.ones(2)
        optimizer.step()
        assert adagrad.state[parameter]["sum"].tolist() == [1.25, 1.25]
        optimizer.restart("task_net")
        assert adagrad.state[parameter]["sum"].tolist() == [0.25, 0.25] and adagrad.state[parameter]["step"] == 0


def test_a_state_of_other_players_is_refused():
    optimizer = TwoPlayerOptimizer(optimizers(parameters()))
    with pytest.raises(RuntimeError, match="the checkpoint is of"):
        optimizer.load_state_dict({"task_net": optimizer.players["task_net"].state_dict()})
    with pytest.raises(RuntimeError, match="the checkpoint is of"):
        TwoPlayerScheduler({}).load_state_dict({"task_net": {}})


class Counting:
    def __init__(self):
        self.batches, self.metrics = [], []

    def step_batch(self, batch_num_total=None):
        self.batches.append(batch_num_total)

    def step(self, metric=None):
        self.metrics.append(metric)

    def state_dict(self):
        return {"batches": self.batches}

    def load_state_dict(self, state):
        self.batches = list(state["batches"])


def test_a_batch_is_counted_once():
    players = {"loss_net": Counting(), "task_net": Counting()}
    scheduler = TwoPlayerScheduler(players)
    for batch in (1, 1, 1, 2, 2, 3):
        scheduler.step_batch(batch)
    scheduler.step(None)
    scheduler.step(torch.tensor(2.0, dtype=torch.double).numpy()[()])
    for player in players.values():
        assert player.batches == [1, 2, 3]
        # Plain numbers, which a checkpoint can hold.
        assert player.metrics == [None, 2.0] and type(player.metrics[1]) is float
    # Without a number, every call counts, as with AllenNLP's schedulers.
    scheduler.step_batch()
    scheduler.step_batch()
    assert players["task_net"].batches == [1, 2, 3, None, None]


def test_each_player_has_its_own_schedule():
    made = optimizers(parameters())
    scheduler = TwoPlayerScheduler(
        {
            "loss_net": LearningRateScheduler.from_params(
                Params({"type": "exponential", "gamma": 0.5}), optimizer=made["loss_net"]
            )
        }
    )
    scheduler.step(None)
    assert made["loss_net"].param_groups[0]["lr"] == 0.5 and made["task_net"].param_groups[0]["lr"] == 0.1
