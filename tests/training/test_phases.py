"""Phases of a run: who moves when, what a restart brings back, and which epoch is the best."""

import copy
import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.training import TrainerCallback

from seal.common.random_states import RandomStream
from seal.samplers import GradientBasedInference
from seal.tasks.base import SealModel
from seal.training import Phase
from seal.training.phases import PhasedRun, Phases, TaskNetStart, check_validation_metric
from tests.training.runs import LINEAR, PLATEAU, build, config, linear_rates, players, same, sentence, weights

STATIC = [
    {"epochs": 1, "train": "task_net", "energy": False},
    {"epochs": 2, "train": "loss_net"},
    {"train": "task_net", "restart": True},
]


def phases(*given: dict[str, Any], num_epochs: int = 6) -> Phases:
    return Phases([Phase.from_params(Params(dict(phase))) for phase in given], num_epochs)


class Epochs(TrainerCallback):
    """The weights and learning rates at the end of every epoch."""

    def __init__(self) -> None:
        super().__init__("")
        self.weights: list[dict[str, dict[str, torch.Tensor]]] = []
        self.rates: dict[str, list[float]] = {"task_net": [], "loss_net": []}

    def on_epoch(self, trainer, metrics, epoch, is_primary=True, **kwargs) -> None:
        if epoch >= 0:
            self.weights.append(players(trainer.model))
            for name, optimizer in trainer.optimizer.players.items():
                self.rates[name].append(optimizer.param_groups[0]["lr"])


def of_epoch(seen: Epochs, epoch: int) -> dict[str, torch.Tensor]:
    return {**seen.weights[epoch]["task_net"], **seen.weights[epoch]["loss_net"]}


def watched(settings, folder):
    trainer = build(settings, folder)
    seen = Epochs()
    trainer._callbacks.append(seen)
    return trainer, seen


def scores(trainer, *values: float) -> None:
    """Makes validation return these values, one for each epoch."""
    trainer._metric_tracker.combined_score = lambda metrics: values[trainer._epochs_completed]


# Epochs.


def test_epochs_belong_to_phases():
    schedule = phases({"epochs": 2}, {"epochs": 0, "restart": True}, {"epochs": 1}, {})
    assert [schedule.index(epoch) for epoch in range(8)] == [0, 0, 2, 3, 3, 3, 3, 3]
    assert [schedule.start(index) for index in (0, 2, 3)] == [0, 2, 3]
    assert phases({"epochs": 6}).index(5) == 0
    assert phases({"epochs": 2}, {"epochs": 4}).index(2) == 1
    # The rest of a run's epochs may go to an earlier phase.
    schedule = phases({"epochs": 1}, {}, {"epochs": 2}, num_epochs=9)
    assert [schedule.index(epoch) for epoch in range(9)] == [0, *6 * [1], *2 * [2]]


def test_epochs_in_which_a_player_moves():
    schedule = phases(*STATIC)
    assert schedule.epochs_of("task_net") == 1 and schedule.epochs_of("loss_net") == 2
    assert schedule.epochs_of("task_net", 2) == 3
    assert phases({"epochs": 2}, {"epochs": 0, "restart": True}, {}).epochs_of("task_net") == 6
    assert phases({}).epochs_of("task_net") == 6
    copied = phases({"epochs": 2}, {"copy_task_net": True})
    assert copied.epochs_of("loss_net") == 2 and copied.epochs_of("task_net") == 6
    assert copied.epochs_of("loss_net", 1) == 4


UNSUPERVISED = {"train": "task_net", "supervised": False}
ENERGY_ALONE = {"energy_weight": 1.0, "cross_entropy_weight": 0.0}


@pytest.mark.parametrize(
    "given, more, named",
    [
        ([{"epochs": -1}], {}, "trainer.phases[0].epochs"),
        ([{"train": "energy"}], {}, "'energy'"),
        ([{}, {"epochs": 1}, {}], {}, "trainer.phases"),
        ([{"epochs": 3}, {}], {}, "trainer.phases"),
        ([{"epochs": 3}, {"epochs": 0}], {}, "trainer.phases[1].epochs"),
        ([{"epochs": 2}, {"epochs": 2}], {}, "trainer.num_epochs"),
        ([{"epochs": 2}], {}, "trainer.num_epochs"),
        ([{"epochs": 1}, {"train": "loss_net", "restart": True}], {}, "trainer.phases[1].restart"),
        ([{"restart": True}], {"trainer__task_net__steps": 0}, "trainer.phases[0].restart"),
        ([{"epochs": 1}, {"train": "loss_net"}], {"method": "cross_entropy"}, "trainer.phases[1].train"),
        ([{"supervised": False}], {}, "'task_net'"),
        ([{**UNSUPERVISED, "energy": False}], {}, "energy"),
        ([UNSUPERVISED], {"method": "cross_entropy"}, "loss_net"),
        ([UNSUPERVISED], {"method": "margin", "energy_weight": 0.0}, "energy_weight"),
        ([{"epochs": 1, "energy": False}, {}], {"model__task_loss": ENERGY_ALONE}, "cross_entropy_weight"),
        ([{"copy_task_net": True}], {"share_encoder": True, "model__task_net__bias": False}, "copy_task_net"),
        ([{"copy_task_net": True}], {"method": "cross_entropy"}, "copy_task_net"),
        ([{"epochs": 1, "validation_metric": "f1"}, {}], {}, "trainer.phases[0].validation_metric"),
        ([{"epochs": 1}, {"validation_metric": "+f1"}], {}, "trainer.phases[1].validation_metric"),
    ],
)
def test_wrong_phases_are_named(tmp_path, given, more, named):
    assert named in sentence(config(epochs=3, trainer__phases=given, **more), tmp_path)


def test_without_supervision_the_task_net_follows_the_energy_alone(tmp_path):
    """The fine-tuning of a test-time network: `argmin_Psi E(x, A_Psi(x))`, the loss-net as it is, gold or no gold."""
    settings = config(epochs=3, dropout=0.0, batch_size=8, trainer__phases=[{"epochs": 1}, UNSUPERVISED])
    callback = Epochs()
    trainer = build(settings, tmp_path)
    trainer._callbacks.append(callback)
    trainer.train()
    before, after = callback.weights[0], callback.weights[2]
    assert same(before["loss_net"], after["loss_net"]) and not same(before["task_net"], after["task_net"])

    batch = {name: value for name, value in next(iter(trainer.data_loader)).items() if name != "tags"}
    model = trainer.model
    state = model.task_state(**batch)
    energy = model.loss_net(
        model.frozen_features(state), model.output_space.relax(state.logits, state.mask), state.mask
    )
    assert state.gold is None and trainer.training_loss(batch).item() == pytest.approx(energy.mean().item())


@pytest.mark.parametrize("shared", [True, False])
def test_a_shared_encoder_does_not_leave_the_energy_fixed(tmp_path, caplog, shared):
    settings = config(epochs=2, trainer__phases=[{"epochs": 1}, UNSUPERVISED])
    if shared:
        del settings["model"]["loss_net"]["encoder"]
    trainer, seen = watched(settings, tmp_path)
    assert trainer.model.loss_net.shares_encoder == shared
    trainer.train()
    assert same(seen.weights[0]["loss_net"], seen.weights[1]["loss_net"])
    told = [record.message for record in caplog.records if "the energy is not fixed" in record.message]
    assert len(told) == shared and all(message.startswith("trainer.phases[1]: ") for message in told)


def test_without_supervision_a_batch_without_a_frame_teaches_nothing(tmp_path):
    """Its sentences are rows of the predicate finder, whose loss is supervised too."""
    trainer = build(config(dropout=0.0, batch_size=1), tmp_path)
    model = trainer.model
    states = [model.task_state(**batch) for batch in trainer.data_loader]
    (state, *_) = [state for state in states if len(state.logits) == 0]
    assert state.auxiliary_losses["predicate_loss"] > 0
    loss = model.task_net_loss(state, model.frozen_features(state), supervised=False)
    loss.backward()
    assert loss == 0 and not any(p.grad.any() for p in model.task_net_parameters() if p.grad is not None)


# Who moves.


def test_static_training_in_one_run(tmp_path, caplog):
    settings = config(epochs=5, trainer__phases=STATIC)
    trainer, seen = watched(settings, tmp_path)
    start = players(trainer.model)
    with caplog.at_level(logging.INFO, logger="seal.training.phases"):
        trainer.train()
    task_net = [start["task_net"]] + [epoch["task_net"] for epoch in seen.weights]
    loss_net = [start["loss_net"]] + [epoch["loss_net"] for epoch in seen.weights]
    moved = [[not same(*pair) for pair in zip(net, net[1:])] for net in (task_net, loss_net)]
    assert moved == [[True, False, False, True, True], [False, True, True, False, False]]
    lines = [r.getMessage() for r in caplog.records if r.name == "seal.training.phases"]
    assert len(lines) == 3 and lines[2].startswith("Phase 3 of 3 begins: train 'task_net'")


@pytest.mark.parametrize("scheduler", [None, LINEAR, PLATEAU, {"type": "linear_with_warmup", "warmup_steps": 0}])
def test_a_restart_is_training_from_scratch_under_the_loss_net(any_frozen_loss_net, tmp_path, scheduler):
    """The third phase alone, from the construction's weights and with the finished loss-net, is the same."""
    more = {} if scheduler is None else {"trainer__task_net__learning_rate_scheduler": scheduler}
    trainer, seen = watched(config(epochs=5, trainer__phases=STATIC, dropout=0.0, **more), tmp_path / "one")
    trainer.train()
    alone, wanted = watched(config(epochs=2, trainer__loss_net__steps=0, dropout=0.0, **more), tmp_path / "alone")
    finished = seen.weights[2]["loss_net"]
    alone.model.load_state_dict({**weights(alone.model), **finished})
    alone.train()
    for ours, theirs in zip(seen.weights[3:], wanted.weights):
        assert same(ours["task_net"], theirs["task_net"]) and same(ours["loss_net"], finished)
    assert seen.rates["task_net"][3:] == wanted.rates["task_net"]


def test_a_restart_brings_buffers_and_averages_back(tmp_path):
    average = {"type": "exponential", "decay": 0.5}
    trainer = build(config(epochs=5, trainer__phases=STATIC, trainer__moving_average=average), tmp_path)
    model = trainer.model
    for module in (model.task_net, model.loss_net):
        module.register_buffer("count", torch.zeros(()))
    trainer.phases._task_net_start = TaskNetStart(model)
    before = players(model)
    trainer._train_epoch(0)
    for module in (model.task_net, model.loss_net):
        module.count += 1
    loss_net = players(model)["loss_net"]
    trainer.phases.enter(3, inside=False)
    after = players(model)
    assert same(after["task_net"], before["task_net"]) and same(after["loss_net"], loss_net)
    assert model.task_net.count == 0 and model.loss_net.count == 1
    shadows = trainer._moving_average._shadows
    assert all(torch.equal(shadows[n], p) for n, p in model.named_parameters() if n.startswith("task_net."))
    assert not trainer.optimizer.state_dict()["task_net"]["state"]


@pytest.mark.parametrize("more", [{"trainer__phases": [{"train": "loss_net"}]}, {"trainer__task_net__steps": 0}])
def test_the_loss_net_alone(tmp_path, more):
    """A single phase is the last one: validation and patience work as usual. The task-net's scores never change."""
    trainer, seen = watched(config(epochs=6, trainer__patience=2, **more), tmp_path)
    start = players(trainer.model)
    assert list(trainer.optimizer.players) == ["loss_net"]
    metrics = trainer.train()
    assert metrics["epoch"] == 2 and metrics["best_epoch"] == 0
    assert all(same(epoch["task_net"], start["task_net"]) for epoch in seen.weights)
    assert not same(seen.weights[-1]["loss_net"], start["loss_net"])


# Schedulers.


def test_schedulers_rest_with_their_players(tmp_path):
    settings = config(
        epochs=6,
        trainer__phases=[
            {"epochs": 2, "train": "loss_net"},
            {"epochs": 1, "train": "task_net"},
            {"epochs": 1, "train": "loss_net"},
            {},
        ],
        trainer__task_net__learning_rate_scheduler=LINEAR,
        trainer__loss_net__learning_rate_scheduler={"type": "step", "step_size": 1, "gamma": 0.5},
    )
    trainer, seen = watched(settings, tmp_path)
    trainer.train()
    assert seen.rates["loss_net"] == [5e-3 * 0.5**n for n in (1, 2, 2, 3, 4, 5)]
    # Three epochs of four batches: one, a rest, and two.
    wanted = linear_rates(3, 4)
    assert seen.rates["task_net"] == [wanted[n] for n in (0, 0, 4, 4, 8, 12)]


@pytest.fixture
def plateaus():
    return {f"trainer__{name}__learning_rate_scheduler": PLATEAU for name in ("task_net", "loss_net")}


def test_a_resting_players_plateau_sees_no_score(tmp_path, plateaus):
    given = [{"epochs": 3, "train": "task_net"}, {}]
    trainer, seen = watched(config(epochs=5, trainer__phases=given, **plateaus), tmp_path)
    scores(trainer, 0.5, 0.5, 0.5, 0.1, 0.2)
    trainer.train()
    assert seen.rates["loss_net"] == [5e-3] * 5
    assert seen.rates["task_net"] == [5e-3 * 0.5**n for n in (0, 1, 2, 3, 4)]


def test_no_plateau_where_only_the_loss_net_moves_and_the_task_net_predicts(tmp_path, plateaus):
    trainer, seen = watched(
        config(epochs=5, trainer__phases=[{"epochs": 3, "train": "loss_net"}, {}], **plateaus), tmp_path
    )
    scores(trainer, 0.5, 0.5, 0.5, 0.5, 0.5)
    trainer.train()
    # The first score of the second phase is the best there is.
    assert seen.rates["loss_net"] == [5e-3] * 4 + [2.5e-3]


@pytest.mark.parametrize(
    "start, share, rates",
    [
        ("zeros", False, [5e-3] * 3),
        ("task_net", False, [5e-3, 2.5e-3, 1.25e-3]),
        ("zeros", True, [5e-3, 2.5e-3, 1.25e-3]),
    ],
)
def test_no_plateau_where_only_the_noise_moves_and_the_energy_predicts(tmp_path, plateaus, start, share, rates):
    given = [{"epochs": 3, "train": "task_net", "energy": False}, {"train": "loss_net"}]
    trainer, seen = watched(config(epochs=4, share_encoder=share, trainer__phases=given, **plateaus), tmp_path)
    trainer.model.inference = GradientBasedInference(start=start)
    scores(trainer, 0.5, 0.5, 0.5, 0.5)
    trainer.train()
    assert seen.rates["task_net"][:3] == rates


# What the loss-net begins as.


def copied(**more):
    schedule = [{"epochs": 2, "train": "task_net", "energy": False}, {"train": "loss_net", "copy_task_net": True}]
    return config(epochs=4, model__task_net__bias=False, trainer__phases=schedule, **more)


@pytest.mark.parametrize("average", [False, True])
def test_the_loss_net_begins_as_the_task_net_is(tmp_path, average):
    more = {"trainer__moving_average": {"type": "exponential", "decay": 0.5}} if average else {}
    trainer, seen = watched(copied(**more), tmp_path)
    loss_net, begins, averages = trainer.model.loss_net, [], []

    def remember(*_):
        if trainer._epochs_completed == 2 and not begins and trainer.model.training:
            begins.append(weights(trainer.model))
            if average:
                averages.append({name: value.clone() for name, value in trainer._moving_average._shadows.items()})

    loss_net.register_forward_pre_hook(remember)
    trainer.train()
    (begin,) = begins
    encoder = {name: value for name, value in begin.items() if name.startswith("task_net.encoder.")}
    assert encoder and all(torch.equal(value, begin[f"loss_{name[len('task_') :]}"]) for name, value in encoder.items())
    label_weights = begin["loss_net.energies.0.label_embeddings.weight"]
    assert torch.equal(label_weights, -begin["task_net._head.weight"])
    # It moves on from there, alone.
    assert not same(seen.weights[1]["loss_net"], seen.weights[2]["loss_net"])
    assert same(seen.weights[1]["task_net"], seen.weights[3]["task_net"])
    for shadows in averages:
        assert torch.equal(shadows["loss_net.energies.0.label_embeddings.weight"], label_weights)


def test_optimizer_and_scheduler_of_a_copy_begin_anew(tmp_path):
    settings = copied(trainer__loss_net__learning_rate_scheduler=LINEAR)
    settings["trainer"]["phases"][0] = {"epochs": 2}
    trainer, states, batches = build(settings, tmp_path), [], []

    def remember(*_):
        if trainer._epochs_completed == 2 and trainer.model.training:
            states.append(len(trainer.optimizer.players["loss_net"].state_dict()["state"]))
            batches.append(trainer._learning_rate_scheduler._batches["loss_net"])

    trainer.model.loss_net.register_forward_pre_hook(remember)
    trainer.train()
    assert states[0] == 0 < states[-1]
    assert batches[0] == 0 < batches[-1]


# Validation.


def test_what_an_earlier_phase_scored_does_not_win(tmp_path):
    given = [{"epochs": 3, "energy": False}, {}]
    trainer, seen = watched(config(epochs=6, trainer__patience=2, trainer__phases=given), tmp_path)
    # Falling scores would end the first phase, and its first epoch would be the best of all.
    scores(trainer, 0.9, 0.8, 0.7, 0.1, 0.3, 0.2)
    metrics = trainer.train()
    assert metrics["epoch"] == 5 and metrics["best_epoch"] == 4 and trainer._metric_tracker.best_epoch == 4
    best = of_epoch(seen, 4)
    assert same(torch.load(tmp_path / "best.th"), best) and same(weights(trainer.model), best)


def test_the_first_epoch_of_the_last_phase_may_be_the_best(tmp_path):
    given = [{"epochs": 2, "train": "task_net", "energy": False}, {"restart": True}]
    trainer, seen = watched(config(epochs=6, trainer__patience=1, trainer__phases=given), tmp_path)
    scores(trainer, 0.9, 0.8, 0.2, 0.1)
    metrics = trainer.train()
    # Patience counts again in the last phase.
    assert metrics["epoch"] == 3 and metrics["best_epoch"] == 2
    assert same(torch.load(tmp_path / "best.th"), of_epoch(seen, 2))


def test_the_best_epoch_may_be_one_of_any_phase(tmp_path):
    given = [{"epochs": 3, "energy": False}, {}]
    settings = config(epochs=6, trainer__patience=2, trainer__phases=given, trainer__best_of_all_phases=True)
    trainer, seen = watched(settings, tmp_path)
    # Patience does not end the first phase, and counts anew in the last one, where nothing is better.
    scores(trainer, 0.9, 0.8, 0.7, 0.1, 0.3)
    metrics = trainer.train()
    assert metrics["epoch"] == 4 and metrics["best_epoch"] == 0
    assert same(weights(trainer.model), of_epoch(seen, 0))


@pytest.mark.parametrize("average", [None, {"type": "exponential", "decay": 0.5}])
def test_a_phase_starts_from_the_best_epoch_of_the_last_by_its_own_metric(tmp_path, monkeypatch, average):
    given = [{"epochs": 3, "train": "loss_net", "validation_metric": "+ranking_accuracy"}, {"train": "task_net"}]
    values, starts = iter([20.0, 60.0, 40.0]), []
    count, enter = PhasedRun.count, PhasedRun.enter

    def scored(self, metrics, epoch):
        assert 0 <= metrics["ranking_accuracy"] <= 100
        count(self, {**metrics, "ranking_accuracy": next(values, 0.0)}, epoch)

    def recorded(self, epoch, inside):
        enter(self, epoch, inside)
        starts.append(weights(self.model))

    monkeypatch.setattr(PhasedRun, "count", scored)
    monkeypatch.setattr(PhasedRun, "enter", recorded)
    more = {} if average is None else {"trainer__moving_average": average}
    trainer, seen = watched(config(epochs=5, trainer__phases=given, **more), tmp_path)
    trainer.train()
    if average is None:
        assert same(starts[3], of_epoch(seen, 1)) and not same(of_epoch(seen, 1), of_epoch(seen, 2))
    else:
        # The averages of that epoch, which are validated; they begin anew there.
        assert not any(same(starts[3], of_epoch(seen, epoch)) for epoch in range(3))
    assert not (tmp_path / "phase_best.th").exists()


def test_the_loss_net_is_scored_on_validation_data(tmp_path):
    trainer = build(config(dropout=0.0), tmp_path / "one")
    metrics = trainer.train()
    model, others, right, gold = trainer.model.eval(), 0, 0, 0.0
    (batch,) = trainer._validation_data_loader
    with torch.no_grad(), RandomStream(trainer._seed).active():
        state = model.state_of_all_nets(**batch)
        candidates = model.sample(state)
        loss = model.loss_net_loss(state, candidates)
    energies = model.energy(state, candidates.outputs)
    for row, (tags, mask) in enumerate(zip(state.gold, state.mask)):
        of_gold = float(model.energy(state, state.gold.unsqueeze(1))[row, 0])
        gold += of_gold / len(state.gold)
        for output, energy in zip(candidates.outputs[row], energies[row]):
            if not torch.equal(output[mask], tags[mask]):
                others, right = others + 1, right + (float(energy) > of_gold)
    assert 0 < right < others
    assert metrics["validation_ranking_accuracy"] == pytest.approx(100 * right / others)
    assert metrics["validation_energy_gold"] == pytest.approx(gold, rel=1e-5)
    assert metrics["validation_loss_net_loss"] == pytest.approx(float(loss), rel=1e-5)


def test_scores_of_the_loss_net_change_no_run(tmp_path, monkeypatch):
    runs = []
    for scored in (True, False):
        if not scored:
            monkeypatch.setattr(SealModel, "score_loss_net", lambda self, batch: None)
        trainer = build(config(epochs=2), tmp_path / str(scored))
        metrics = trainer.train()
        assert ("validation_ranking_accuracy" in metrics) == scored
        runs.append(weights(trainer.model))
    assert same(*runs)


@pytest.mark.parametrize(
    "values, warnings",
    [([0.0] * 3, 1), ([0.0, 0.5, 0.5], 0), ([0.1, 0.1, 0.1, 0.1, 0.2], 1), ([0.3] * 7, 2), ([100.0] * 4, 0)],
)
def test_a_score_that_stays_the_same_is_told(tmp_path, caplog, values, warnings):
    trainer = build(config("cross_entropy", epochs=len(values)), tmp_path)
    scores(trainer, *values)
    trainer.train()
    told = [record.message for record in caplog.records if "so no epoch is better" in record.message]
    assert len(told) == warnings


@pytest.mark.parametrize("steps, warned", [(7, False), (8, True), (9, True)])
def test_a_warm_up_longer_than_the_run_is_told(tmp_path, caplog, steps, warned):
    scheduler = {"type": "linear_with_warmup", "warmup_steps": steps}
    build(config("cross_entropy", epochs=2, trainer__task_net__learning_rate_scheduler=scheduler), tmp_path)
    told = [record.message for record in caplog.records if "in all, so" in record.message]
    assert len(told) == warned


def test_a_record_has_only_what_its_epoch_measured(tmp_path):
    """The loss of a player that rests is not repeated, in no epoch's file nor at the end."""
    given = [{"epochs": 2}, {"train": "task_net", "supervised": False}]
    trainer = build(config(epochs=4, trainer__phases=given), tmp_path)
    end = trainer.train()
    files = [json.loads((tmp_path / f"metrics_epoch_{epoch}.json").read_text()) for epoch in range(4)]
    resting = {"training_loss_net_loss", "training_cross_entropy", "training_grad_norm_loss_net"}
    for metrics, rests in zip([*files, end], (False, False, True, True, True)):
        assert {"training_loss", "training_duration", "training_grad_norm_task_net"} < set(metrics)
        assert resting.isdisjoint(metrics) if rests else resting < set(metrics)
    assert files[0]["training_loss_net_loss"] != files[1]["training_loss_net_loss"]
    assert {name: value for name, value in end.items() if name.startswith("training_")} == {
        name: value for name, value in files[3].items() if name.startswith("training_")
    }


@pytest.mark.parametrize("kind", [None, "separated", "stacked"])
def test_frozen_nets_have_no_dropout(tmp_path, kind):
    """
    A frozen task-net is a fixed distribution for the loss-net, and so is the cost-augmented network; those that are
    trained have their dropout.
    """
    settings = config(epochs=2, dropout=0.5, trainer__phases=[{"epochs": 1, "train": "loss_net"}, {"epochs": 1}])
    encoder = copy.deepcopy(settings["model"]["task_net"]["encoder"])
    if kind is not None:
        settings["model"].update(
            cost_augmented_net={"type": kind, **({"encoder": encoder} if kind == "separated" else {})},
            sampler={"type": "stack", "samplers": ["cost_augmented_output", "task_net_output"]},
            energy_loss={"type": "compound", "separate": True},
            task_loss={"type": "inference_network", "energy_weight": 0.5},
        )
    trainer = build(settings, tmp_path)
    seen = set()

    def remember(net, *_):
        if trainer.model.training:  # Not in validation.
            seen.add((type(net), trainer._epochs_completed, net.training))

    nets = [net for net in (trainer.model.task_net, trainer.model.cost_augmented_net) if net is not None]
    for net in nets:
        net.register_forward_hook(remember)
    trainer.train()
    assert seen == {(type(net), epoch, epoch == 1) for net in nets for epoch in (0, 1)}


@pytest.mark.parametrize(
    "inference, metrics", [(None, ["-loss", ["+f1", "-loss"]]), (object(), [["+f1", "-hamming_loss"]])]
)
def test_metrics_of_validation(inference, metrics):
    for metric in metrics:
        check_validation_metric(SimpleNamespace(inference=inference), metric)


@pytest.mark.parametrize(
    "metric, named",
    [
        ([], "+f1"),
        ("+loss", "-loss"),
        ("+ucr", "-ucr"),
        ("+duplicates", "-duplicates"),
        (["+f1", "-micro_f1_tuned"], "+micro_f1_tuned"),
        ("-f1-PER", "+f1-PER"),
        ("-mean_iou", "+mean_iou"),
        (["-loss", "f1"], "+f1"),
    ],
)
def test_a_metric_without_a_direction_or_with_one_that_would_keep_the_worst_epoch(metric, named):
    with pytest.raises(ConfigurationError) as error:
        check_validation_metric(SimpleNamespace(inference=None), metric)
    assert "trainer.validation_metric" in error.value.message and f"'{named}'" in error.value.message


def test_predictions_of_the_energy_have_no_loss():
    with pytest.raises(ConfigurationError, match="trainer.validation_metric"):
        check_validation_metric(SimpleNamespace(inference=object()), ["+f1", "-loss"])
