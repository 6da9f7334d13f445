"""Who is trained: turns, and what optimizers and schedulers each player has."""

import copy
from types import SimpleNamespace

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

import seal  # noqa: F401
from seal.training.phases import Phase, Phases
from seal.training.players import Player, Players


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


def named(made):
    nets = {"task_net": made.task_net, "loss_net": made.loss_net}
    return [(f"{net}.{name}", p) for net in nets for name, p in nets[net].named_parameters()]


def players(made, task_net=None, loss_net=None, first="loss_net", phases=None, epochs=6):
    schedule = Phases([Phase(**phase) for phase in phases or [{}]], epochs)
    return Players(made, {"task_net": task_net, "loss_net": loss_net}, first, schedule)


@pytest.mark.parametrize(
    "first, turns",
    [("loss_net", ["loss_net"] * 3 + ["task_net"] * 2), ("task_net", ["task_net"] * 2 + ["loss_net"] * 3)],
)
def test_turns(first, turns):
    made = players(model(), player(steps=2), player(steps=3, grad_norm=5.0), first)
    assert made.turns == turns
    assert made.grad_norms == {"task_net": None, "loss_net": 5.0}


def test_a_model_without_a_loss_net():
    made = players(model(loss_net=False), player(steps=2))
    assert made.turns == ["task_net"] * 2


def test_whom_no_phase_trains_does_not_play():
    made = players(model(energy_weight=0.0), phases=[{"train": "task_net"}])
    assert made.turns == ["task_net"] and set(made.grad_norms) == {"task_net"}


def test_optimizers_share_the_parameters_out():
    net = model()
    rates = [player(optimizer={"type": "sgd", "lr": rate}) for rate in (0.25, 0.5)]
    optimizer = players(net, *rates).optimizer(named(net))
    for name, rate in (("task_net", 0.25), ("loss_net", 0.5)):
        (group,) = optimizer.players[name].param_groups
        wanted = {id(parameter) for parameter in getattr(net, name).parameters()}
        assert {id(parameter) for parameter in group["params"]} == wanted and group["lr"] == rate


def test_a_player_whose_parameters_are_all_frozen():
    net = model()
    with pytest.raises(ConfigurationError, match="trainer.no_grad freezes every parameter of the loss_net"):
        players(net).optimizer([item for item in named(net) if item[0].startswith("task_net")])


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"lr": -1.0}, "Invalid learning rate: -1.0"),
        ({"parameter_groups": [[["(weight"], {}]]}, "missing \\), unterminated subpattern"),
        ({"parameter_groups": [[["weight"], {}], [["task_net"], {}]]}, "specified in two separate parameter groups"),
        ({"parameter_groups": [[["weight"], {"lrr": 0.1}]]}, "has no setting 'lrr'; choose from: .*lr"),
        ({"parameter_groups": [[["weight"], {"lr": -1}]]}, "lr must be a number that is at least 0, not -1"),
        ({"parameter_groups": [[["weight"], {"lr": "1e-3"}]]}, "lr must be a number that is at least 0, not '1e-3'"),
        ({"parameter_groups": [[["weight"], {"lr": None}]]}, "lr must be a number that is at least 0, not None"),
        ({"parameter_groups": [[["weight"], {"lr": float("nan")}]]}, "lr must be a number .* not nan"),
    ],
)
def test_a_setting_that_an_optimizer_refuses(settings, told):
    net = model()
    given = player(optimizer={"type": "sgd", "lr": 0.1, **settings})
    with pytest.raises(ConfigurationError, match=rf'^(config key ")?trainer\.task_net\.optimizer.*{told}'):
        players(net, given).optimizer(named(net))


def test_a_player_with_several_optimizers():
    net = model()
    several = {"default": {"type": "adam", "lr": 0.5}, "weights": {"type": "sgd", "lr": 0.25, "momentum": 0.9}}
    groups = [[["weight"], {"optimizer_name": "weights"}]]

    def made(**more):
        optimizer = {"type": "multi", "optimizers": several, "parameter_groups": groups}
        given = player(optimizer=copy.deepcopy(optimizer), **more)
        return players(net, given).optimizer(named(net))

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
    with pytest.raises(ConfigurationError, match="learning_rate_scheduler: AllenNLP's optimizer 'multi' follows none"):
        made(learning_rate_scheduler={"type": "linear_with_warmup"})


def test_schedulers_count_the_epochs_in_which_their_player_moves():
    net = model()
    linear = {"type": "linear_with_warmup", "warmup_steps": 0}
    scheduled = [player(optimizer={"type": "sgd", "lr": 1.0}, learning_rate_scheduler=dict(linear)) for _ in range(2)]
    phases = [{"epochs": 2, "train": "loss_net"}, {"epochs": 1}, {"train": "task_net"}]
    made = players(net, *scheduled, phases=phases)
    scheduler = made.scheduler(optimizer=made.optimizer(named(net)), num_epochs=6, num_steps_per_epoch=5)
    # Of six epochs the loss-net moves in three, the task-net in four.
    steps = {name: one.total_steps for name, one in scheduler.players.items()}
    assert steps == {"task_net": 20, "loss_net": 15}


def test_epochs_without_batches():
    net = model()
    made = players(net)
    with pytest.raises(ConfigurationError, match="^data_loader: it gives no batch, .*drop_last"):
        made.scheduler(optimizer=made.optimizer(named(net)), num_epochs=6, num_steps_per_epoch=0)


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"type": "reduce_on_plateau"}, r".mode: set 'max'. The scheduler is given trainer.validation_metric"),
        ({"type": "reduce_on_plateau", "mode": "min"}, ".mode: set 'max'"),
        ({"type": "reduce_on_plateau", "mode": "mx"}, ": mode mx is unknown!"),
    ],
)
def test_a_scheduler_with_a_wrong_setting(settings, told):
    net = model()
    made = players(net, player(learning_rate_scheduler=settings), player())
    with pytest.raises(ConfigurationError, match=f'^(config key ")?trainer.task_net.learning_rate_scheduler"?{told}'):
        made.scheduler(optimizer=made.optimizer(named(net)), num_epochs=6, num_steps_per_epoch=5)


def test_only_those_with_a_scheduler_have_one():
    net = model()
    made = players(net, player(learning_rate_scheduler={"type": "constant"}), player())
    scheduler = made.scheduler(optimizer=made.optimizer(named(net)), num_epochs=6, num_steps_per_epoch=5)
    assert set(scheduler.players) == {"task_net"}


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"first": "energy"}, "trainer.first must be 'task_net' or 'loss_net', found 'energy'."),
        ({"task_net": {"steps": 0}, "loss_net": {"steps": 0}}, "nothing would be trained"),
        ({"loss_net": {"steps": 0}}, "nothing trains the loss-net"),
        ({"phases": [{"train": "loss_net"}], "loss_net": {"steps": 0}}, "'loss_net' is not trained"),
    ],
)
def test_mistakes(settings, told):
    given = {name: player(**value) if isinstance(value, dict) else value for name, value in settings.items()}
    with pytest.raises(ConfigurationError) as error:
        players(model(), **given)
    assert told in str(error.value)


def test_a_player_that_the_model_lacks():
    with pytest.raises(ConfigurationError, match="trainer.loss_net: the model has no loss_net to train"):
        players(model(loss_net=False), None, player())
