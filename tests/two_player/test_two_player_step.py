"""The step of two players: as AllenNLP's trainer makes it, and in a loop of any kind."""

import copy
import io
import math

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.energies import LabelInteractionEnergy, LocalEnergy
from seal.losses import NceRankingLoss, TaskLoss
from seal.nets import FeatureMlp, LossNet, TaskNet
from seal.output_spaces import LabelSet
from seal.samplers import DiscreteSampler, TaskNetOutputSampler
from seal.two_player import LOSS_NET, TASK_NET, TwoNets, TwoPlayerStep, Updates
from tests.multilabel import run_settings, seal_parts, write_data
from tests.training.runs import build, same, weights


def two_nets(seed=0, dropout=0.0):
    torch.manual_seed(seed)
    space = LabelSet(["red", "round", "sweet"])

    def encoder():
        return FeatureMlp(4, 1, dropout, input_dim=5)

    def interaction(**given):
        return LabelInteractionEnergy(hidden_dim=3, **given)

    loss_net = LossNet([LocalEnergy, interaction], space, None, encoder())
    return TwoNets(TaskNet(encoder(), space), loss_net, space, DiscreteSampler(4), NceRankingLoss(), TaskLoss(0.5))


def updates(parameters, lr=0.01, **more):
    return Updates(torch.optim.AdamW(parameters, lr=lr), **more)


def step_of(nets, task_net=None, loss_net=None, **settings):
    return TwoPlayerStep(
        nets,
        updates(nets.task_net_parameters(), **(task_net or {})),
        updates(nets.loss_net_parameters(), **(loss_net or {})),
        **{"seed": 7, **settings},
    )


def batches(count=3, rows=4):
    torch.manual_seed(1)
    return [
        {"inputs": {"features": torch.randn(rows, 5)}, "gold": torch.randint(0, 2, (rows, 3)).float()}
        for _ in range(count)
    ]


RUNS = {
    "the loss-net first": {},
    "the task-net first, more steps": {"first": TASK_NET, "steps": (2, 3)},
    "one pass of the encoder for both": {"reuse_features": True},
    "interleaved": {"interleaved": True, "steps": (3, 2)},
    "interleaved, the task-net first": {"interleaved": True, "first": TASK_NET, "steps": (2, 3)},
    "clipped": {"grad_norm": 0.01},
}


@pytest.mark.parametrize("run", RUNS)
def test_weights_are_those_that_the_trainer_of_allennlp_gives(run, tmp_path, allennlp_logging):
    settings = dict(RUNS[run])
    task_steps, loss_steps = settings.pop("steps", (1, 1))
    more = {"grad_norm": settings.pop("grad_norm")} if "grad_norm" in settings else {}
    optimizer = {"type": "adamw", "lr": 0.01}
    parts = copy.deepcopy(seal_parts(task_loss={"energy_weight": 0.5}))
    for part in (parts["task_net"], parts["loss_net"]):
        part["encoder"] = {**part["encoder"], "dropout": 0.3}
    trainer = {
        "num_epochs": 2,
        TASK_NET: {"optimizer": optimizer, "steps": task_steps, **more},
        LOSS_NET: {"optimizer": optimizer, "steps": loss_steps, **more},
        **settings,
    }
    config = run_settings(write_data(tmp_path), parts, {"batch_size": 2, "shuffle": False}, **trainer)
    trainer = build(config, tmp_path / "run")
    model = copy.deepcopy(trainer.model)
    nets = TwoNets(
        model.task_net, model.loss_net, model.output_space, model.sampler, model.energy_loss, model.task_loss
    )
    before, seed = weights(nets), trainer.turns.stream._seed
    data = [{"inputs": {"features": b["features"]}, "gold": b["labels"]} for b in trainer.data_loader]

    torch.manual_seed(3)
    trainer.train()
    torch.manual_seed(3)
    step = step_of(nets, {"steps": task_steps, **more}, {"steps": loss_steps, **more}, seed=seed, **settings)
    nets.train()
    for batch in data * 2:
        step.step(batch)
    # The model of the task has thresholds, too. The last epoch is the best, which the trainer keeps.
    trained = {name: value for name, value in weights(trainer.model).items() if name in before}
    assert len(data) == 3 and same(weights(nets), trained)
    assert not any(torch.equal(value, trained[name]) for name, value in before.items())


def test_a_player_moves_its_own_weights_alone():
    for player in (TASK_NET, LOSS_NET):
        nets = two_nets()
        before, step = weights(nets), step_of(nets)
        step.update(player, step.begin(batches(1)[0]))
        after = weights(nets)
        assert {name.partition(".")[0] for name in before if not torch.equal(after[name], before[name])} == {player}


def test_halves_are_a_step():
    one, other = two_nets(), two_nets()
    whole, halves = step_of(one), step_of(other)
    for batch in batches():
        losses = whole.step(batch)
        part = halves.begin(batch)
        found = {LOSS_NET: halves.update(LOSS_NET, part), TASK_NET: halves.update(TASK_NET, part)}
        assert found == losses and set(losses) == {LOSS_NET, TASK_NET}
    assert same(weights(one), weights(other))


@pytest.mark.parametrize("first, other", [(LOSS_NET, TASK_NET), (TASK_NET, LOSS_NET)])
@pytest.mark.parametrize("reuse_features", [False, True])
def test_interleaved_updates_are_steps_of_one_update_of_the_other_player(first, other, reuse_features):
    """`n_other` steps on one batch, each of all updates of the first player and one of the other."""
    settings, ends = {"first": first, "reuse_features": reuse_features}, []
    batch = batches(1)[0]
    for repeated in (False, True):
        nets, made = two_nets(), []
        counts = {first: 3, other: 1 if repeated else 2}
        step = step_of(nets, *({"steps": counts[name]} for name in (TASK_NET, LOSS_NET)), interleaved=True, **settings)
        for name, optimizer in step.optimizer.players.items():
            optimizer.register_step_post_hook(lambda *_, name=name: made.append(name))
        for _ in range(2 if repeated else 1):
            losses = step.step(batch)
        assert made == ([first] * 3 + [other]) * 2
        ends.append((weights(nets), losses))
    assert same(ends[0][0], ends[1][0]) and ends[0][1] == ends[1][1]


def test_state_goes_round():
    data = batches(6)

    def begun():
        nets = two_nets(dropout=0.3)
        made = updates(nets.loss_net_parameters())
        made.scheduler = torch.optim.lr_scheduler.ExponentialLR(made.optimizer, 0.5)
        return nets, TwoPlayerStep(nets, updates(nets.task_net_parameters()), made, seed=7)

    nets, step = begun()
    for batch in data[:3]:
        step.step(batch)
    file = io.BytesIO()
    torch.save({"nets": nets.state_dict(), "step": step.state_dict()}, file)
    file.seek(0)
    state = torch.load(file, weights_only=True)
    torch.manual_seed(2)
    for batch in data[3:]:
        step.step(batch)

    other, resumed = begun()
    other.load_state_dict(state["nets"])
    resumed.load_state_dict(state["step"])
    torch.manual_seed(2)
    for batch in data[3:]:
        resumed.step(batch)
    assert same(weights(nets), weights(other))
    rates = [each.optimizer.players[LOSS_NET].param_groups[0]["lr"] for each in (step, resumed)]
    assert rates == [pytest.approx(0.01 * 0.5**6)] * 2
    with pytest.raises(RuntimeError, match="'loss_net', 'task_net'"):
        TwoPlayerStep(other, updates(other.task_net_parameters())).load_state_dict(state["step"])


def test_any_module_is_a_task_net():
    class Classifier(torch.nn.Module):
        """As those of transformers: an object with logits."""

        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(5, 3)

        def forward(self, inputs):
            return type("Output", (), {"logits": self.layer(inputs["features"])})()

    nets, seen = two_nets(), []
    nets.task_net = Classifier()
    before = nets.task_net.layer.weight.clone()

    def backward(loss):
        seen.append(float(loss.detach()))
        loss.backward()

    losses = step_of(nets, backward=backward).step(batches(1)[0])
    assert seen == [float(losses[LOSS_NET]), float(losses[TASK_NET])]
    assert not torch.equal(nets.task_net.layer.weight, before)
    assert nets({"features": torch.randn(2, 5)}).shape == (2, 3)
    assert float(nets.monitored["task_net_loss"]) == pytest.approx(float(losses[TASK_NET]))


def test_what_is_not_finite_ends_the_step_before_an_update():
    for name, player in ((TASK_NET, TASK_NET), (LOSS_NET, LOSS_NET)):
        nets = two_nets()
        with torch.no_grad():
            getattr(nets, name).encoder._layers._linear_layers[0].bias.fill_(math.nan)
        before = weights(nets)
        step = step_of(nets)
        with pytest.raises(FloatingPointError, match=f"{player}'s "):
            step.update(player, step.begin(batches(1)[0]))
        assert all(torch.equal(value.nan_to_num(9), before[key].nan_to_num(9)) for key, value in weights(nets).items())


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda nets: TwoPlayerStep(nets), "task_net or loss_net"),
        (lambda nets: step_of(nets, {"steps": -1}), "task_net.steps.*-1"),
        (lambda nets: step_of(nets, loss_net={"grad_norm": 0.0}), "loss_net.grad_norm"),
        (lambda nets: step_of(nets, first="both"), "first.*'both'"),
        (lambda nets: step_of(nets, {"steps": 0}).update(TASK_NET, None), "player"),
        (
            lambda nets: TwoNets(
                nets.task_net, nets.loss_net, nets.output_space, TaskNetOutputSampler(), NceRankingLoss()
            ),
            "log-probability",
        ),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make(two_nets())
