"""Who is trained: turns, and what optimizers and schedulers each player has."""

import copy
from types import SimpleNamespace

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training.optimizers import Optimizer

import seal.plugin  # noqa: F401
from seal.training import Player, TwoPlayerOptimizer, TwoPlayerScheduler
from seal.training.phases import Phase, Phases
from seal.training.players import Players


def model(loss_net=True, energy_weight=1.0):
    """The parts that `Players` looks at."""
    nets = {"task_net": torch.nn.Linear(2, 1), "loss_net": torch.nn.Linear(3, 1) if loss_net else None}
    if loss_net:
        nets["loss_net"].pretrained_file = None
    return SimpleNamespace(
        **nets,
        task_loss=SimpleNamespace(energy_weight=energy_weight, cross_entropy_weight=1.0),
        uses_energy=loss_net and energy_weight > 0,
        loss_net_parameters=lambda: list(nets["loss_net"].parameters()) if loss_net else [],
    )


def player(**settings):
    return Player.from_params(Params(settings, "trainer.task_net."))


def named_parameters(made):
    nets = {"task_net": made.task_net, "loss_net": made.loss_net}
    return [(f"{net}.{name}", p) for net in nets for name, p in nets[net].named_parameters()]


def players(made, task_net=None, loss_net=None, first="loss_net", phases=None, epochs=6, **more):
    schedule = Phases([Phase(**phase) for phase in phases or [{}]], epochs)
    return Players(made, {"task_net": task_net, "loss_net": loss_net}, first, schedule, **more)


@pytest.mark.parametrize(
    "first, turns",
    [("loss_net", ["loss_net"] * 3 + ["task_net"] * 2), ("task_net", ["task_net"] * 2 + ["loss_net"] * 3)],
)
def test_turns(first, turns):
    made = players(model(), player(steps=2), player(steps=3, grad_norm=5.0), first)
    assert made.turns(Phase()) == turns
    assert made.turns(Phase(train="loss_net")) == ["loss_net"] * 3
    assert made.grad_norms == {"task_net": None, "loss_net": 5.0}


@pytest.mark.parametrize(
    "first, turns",
    [
        ("loss_net", (["loss_net"] * 3 + ["task_net"]) * 2),
        ("task_net", (["task_net"] * 2 + ["loss_net"]) * 3),
    ],
)
def test_interleaved_turns(first, turns):
    made = players(model(), player(steps=2), player(steps=3), first, interleaved=True)
    assert made.turns(Phase()) == turns
    assert made.turns(Phase(train="loss_net")) == ["loss_net"] * 3
    with pytest.raises(ConfigurationError, match="trainer.fresh_batches"):
        players(model(), player(steps=2), player(steps=3), first, interleaved=True, fresh_batches=True)


def test_optimizers_share_the_parameters_out():
    net = model()
    rates = [player(optimizer={"type": "sgd", "lr": rate}) for rate in (0.25, 0.5)]
    optimizer = players(net, *rates).optimizer(named_parameters(net))
    for name, rate in (("task_net", 0.25), ("loss_net", 0.5)):
        (group,) = optimizer.players[name].param_groups
        wanted = {id(parameter) for parameter in getattr(net, name).parameters()}
        assert {id(parameter) for parameter in group["params"]} == wanted and group["lr"] == rate


@pytest.mark.parametrize(
    "settings, named",
    [
        ({"lr": -1.0}, "-1.0"),
        ({"parameter_groups": [[["(weight"], {}]]}, "subpattern"),
        ({"parameter_groups": [[["weight"], {}], [["task_net"], {}]]}, "two"),
        ({"parameter_groups": [[["weight"], {"lrr": 0.1}]]}, "'lrr'"),
        ({"parameter_groups": [[["weight"], {"lr": -1}]]}, "-1"),
        ({"parameter_groups": [[["weight"], {"lr": "1e-3"}]]}, "'1e-3'"),
        ({"parameter_groups": [[["weight"], {"lr": float("nan")}]]}, "nan"),
    ],
)
def test_a_setting_that_an_optimizer_refuses(settings, named):
    net = model()
    given = player(optimizer={"type": "sgd", "lr": 0.1, **settings})
    with pytest.raises(ConfigurationError, match=rf"trainer\.task_net\.optimizer.*{named}"):
        players(net, given).optimizer(named_parameters(net))


def test_a_player_with_several_optimizers():
    net = model()
    several = {"default": {"type": "adam", "lr": 0.5}, "weights": {"type": "sgd", "lr": 0.25, "momentum": 0.9}}
    groups = [[["weight"], {"optimizer_name": "weights"}]]

    def made(**more):
        optimizer = {"type": "multi", "optimizers": several, "parameter_groups": groups}
        given = player(optimizer=copy.deepcopy(optimizer), **more)
        return players(net, given).optimizer(named_parameters(net))

    optimizer = made()
    for parameter in net.task_net.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.turn = "task_net"
    optimizer.step()
    state, again = optimizer.state_dict(), made()
    again.load_state_dict(state)
    momenta = [one["momentum_buffer"] for one in again.state_dict()["task_net"]["weights_optimizer"]["state"].values()]
    assert momenta and all(torch.equal(momentum, torch.ones_like(momentum)) for momentum in momenta)
    again.restart("task_net")
    assert not again.state_dict()["task_net"]["weights_optimizer"]["state"]
    with pytest.raises(ConfigurationError, match="learning_rate_scheduler"):
        made(learning_rate_scheduler={"type": "linear_with_warmup"})


def scheduler_of(net, *given, batches=5, **more):
    made = players(net, *given, **more)
    return made.scheduler(optimizer=made.optimizer(named_parameters(net)), num_epochs=6, num_steps_per_epoch=batches)


def test_epochs_without_batches():
    with pytest.raises(ConfigurationError, match="data_loader"):
        scheduler_of(model(), batches=0)


@pytest.mark.parametrize("more", [{}, {"mode": "min"}, {"mode": "mx"}])
def test_a_plateau_follows_a_metric_of_which_more_is_better(more):
    with pytest.raises(ConfigurationError, match="trainer.task_net.learning_rate_scheduler.*mode"):
        scheduler_of(model(), player(learning_rate_scheduler={"type": "reduce_on_plateau", **more}), player())


@pytest.mark.parametrize("settings", [{}, {"lr": 0.3, "betas": [0.8, 0.9], "eps": 1e-3, "weight_decay": 0.2}])
def test_equals_allennlps_adamw(settings):
    torch.manual_seed(0)
    start, gradients = torch.randn(7, 3), torch.randn(5, 7, 3)
    found = []
    for name in ("fused_adamw", "adamw"):
        parameter = torch.nn.Parameter(start.clone())
        optimizer = Optimizer.from_params(Params({"type": name, **settings}), model_parameters=[("weight", parameter)])
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()
        found.append(parameter.detach())
    assert torch.allclose(*found, atol=1e-6)
    assert not torch.allclose(found[0], start)


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
    # Each keeps its own rate, count of steps and momentum, and neither keeps a gradient of the other's loss.
    assert [group["lr"] for group in optimizer.param_groups] == [1.0, 0.1]
    assert optimizer.players["task_net"].state[theirs["task_net"]]["step"] == 1
    optimizer.zero_grad()
    assert all(parameter.grad is None for parameter in theirs.values())


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
