import csv
import json

import pytest
import torch
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.models.archival import load_archive
from allennlp.training.util import evaluate

from seal.scores import L1Cost
from seal.structure.thresholds import best_micro_threshold
from seal.tasks.base.tensor_loader import TensorLoader
from seal.tasks.multilabel.reader import MultilabelReader
from seal.training.callbacks import VALUES, trace
from tests.multilabel import DESCENT, LOSS_NET, ROWS, TASK_NET, run_settings, seal_parts, write_data
from tests.training.runs import (
    EachBatch,
    KillAt,
    build,
    comparable,
    config,
    kill_and_recover,
    put,
    same,
    trained,
    weights,
)


def params_of(data, **trainer):
    defaults = {"num_epochs": 3, "validation_metric": "+f1_tuned", "callbacks": ["tune_thresholds"]}
    loader = {"batch_size": 2, "shuffle": True}
    return Params(run_settings(data, {"task_net": TASK_NET}, loader, **{**defaults, **trainer}))


def test_the_best_epochs_thresholds_are_the_models(tmp_path):
    data = write_data(tmp_path)
    model = train_model(params_of(data), str(tmp_path / "run"))
    assert model.is_tuned and model.tuned_metric is None
    best = json.loads((tmp_path / "run" / "metrics.json").read_text())
    epochs = [
        json.loads((tmp_path / "run" / f"metrics_epoch_{i}.json").read_text())["validation_f1_tuned"] for i in range(3)
    ]
    assert best["best_validation_f1_tuned"] == max(epochs)
    archive = load_archive(tmp_path / "run" / "model.tar.gz")
    assert archive.model.tuned_threshold == model.tuned_threshold != 0.5
    # Scoring other data moves none of them.
    other = write_data(tmp_path, ROWS[:2], "other.arff")
    evaluate_from_archive(tmp_path / "run" / "model.tar.gz", other["path"])
    metrics = evaluate_from_archive(tmp_path / "run" / "model.tar.gz", data["path"])
    assert metrics["f1_tuned"] == pytest.approx(best["best_validation_f1_tuned"])


def test_the_metric_to_tune_for(tmp_path):
    data = write_data(tmp_path)
    callback = {"type": "tune_thresholds", "metric": "micro_f1"}
    model = train_model(params_of(data, callbacks=[callback]), str(tmp_path / "run"))
    instances = list(MultilabelReader(**data["reader"]).read(data["path"]))
    outputs = model.forward_on_instances(instances)
    probabilities = torch.stack([torch.from_numpy(output["probabilities"]) for output in outputs])
    gold = torch.stack([instance["labels"].tensor for instance in instances])
    assert model.tuned_threshold == pytest.approx(float(best_micro_threshold(probabilities, gold.bool())))


PLAYER = {"optimizer": {"type": "adam", "lr": 0.05}}
REFINED = {**DESCENT, "start": "task_net"}
SAMPLERS = {"refined": REFINED, "drawn": {**DESCENT, "start": "draw"}, "random": {**DESCENT, "start": "random"}}
ENERGY_ONLY = {"loss_net": LOSS_NET, "sampler": DESCENT, "energy_loss": {"type": "margin"}, "inference": DESCENT}


def settings_of(folder, callbacks=("trace_inference",), epochs=3, model=None, **more):
    players = {"task_net": PLAYER, "loss_net": PLAYER}
    settings = run_settings(
        write_data(folder),
        model or seal_parts(),
        {"batch_size": 2, "shuffle": True},
        num_epochs=epochs, validation_metric="+f1", callbacks=list(callbacks), **players,
    )  # fmt: skip
    for key, value in more.items():
        put(settings, key, value)
    return settings


def tracing(**samplers):
    return {"type": "trace_inference", "samplers": samplers}


def read(folder, name="inference.csv"):
    with (folder / name).open() as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def evaluated(folder, overrides):
    """The metrics of the run's archive on its data."""
    archive = load_archive(folder / "run" / "model.tar.gz", overrides=overrides)
    loader = TensorLoader(archive.validation_dataset_reader, str(folder / "fruit.arff"), batch_size=2)
    loader.index_with(archive.model.vocab)
    return evaluate(archive.model, loader)


@pytest.mark.parametrize("average", [None, {"type": "exponential", "decay": 0.5}])
def test_a_row_is_what_evaluating_with_this_inference_gives(tmp_path, average):
    """The archive has the weights, averaged or not, of the one epoch."""
    settings = settings_of(tmp_path, [tracing(refined=REFINED)], epochs=1, trainer__moving_average=average)
    train_model(Params(settings), str(tmp_path / "run"))
    (row,) = read(tmp_path / "run")
    expected = evaluated(tmp_path, {"model.inference": REFINED})
    plain = evaluated(tmp_path, {})
    names = ["f1", "micro_f1", "macro_f1", "macro_f1_all", "subset_accuracy", "mean_average_precision"]
    assert set(row) == {"epoch", "batches", *(f"refined_{name}" for name in names)}
    assert (row["epoch"], row["batches"]) == (0, 3)
    for name in names:
        assert row[f"refined_{name}"] == pytest.approx(expected[name])
    # Inference changes something, else the comparison would show nothing.
    assert any(plain[name] != pytest.approx(expected[name]) for name in names)


def test_nothing_else_is_moved(tmp_path):
    """Neither weights nor draws of the training, thresholds, or metrics."""
    found = []
    for name, callbacks in (("plain", []), ("traced", [tracing(**SAMPLERS)])):
        more = {"trainer__validation_metric": "+f1_tuned"}
        trainer = build(settings_of(tmp_path, ["tune_thresholds", *callbacks], **more), tmp_path / name)
        metrics = trainer.train()
        assert trainer.model.inference is None
        found.append((weights(trainer.model), comparable(metrics)))
    assert same(found[0][0], found[1][0]) and bool(found[0][0]["is_tuned"])
    assert found[0][1] == found[1][1]
    rows = read(tmp_path / "traced")
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    # Scored with the thresholds, too, which are the task-net's.
    assert {"refined_f1_tuned", "drawn_f1_tuned", "random_f1_per_label"} < set(rows[0])


def test_a_model_without_a_task_net_and_an_inference_of_its_own(tmp_path):
    settings = settings_of(tmp_path, [tracing(same=DESCENT)], model=ENERGY_ONLY, trainer__task_net=...)
    metrics = build(settings, tmp_path / "run").train()
    assert read(tmp_path / "run")[-1]["same_f1"] == pytest.approx(metrics["validation_f1"])


@pytest.mark.parametrize("batch", [4, 5, 8])
def test_a_recovered_run_has_the_rows_of_an_uninterrupted_one(tmp_path, batch):
    more = {"trainer__checkpointer": {"save_every_num_batches": 1}}
    settings = settings_of(tmp_path, [tracing(**SAMPLERS)], **more)
    build(settings, tmp_path / "whole").train()
    kill_and_recover(settings, tmp_path / "killed", KillAt(batch))
    assert (tmp_path / "killed" / "inference.csv").read_text() == (tmp_path / "whole" / "inference.csv").read_text()


@pytest.mark.parametrize(
    "more, named",
    [
        ({"model": {"task_net": seal_parts()["task_net"]}, "trainer__loss_net": ...}, "loss_net"),
        ({"model": ENERGY_ONLY, "trainer__task_net": ...}, "'from_draw'"),
        ({"callbacks": [tracing(a={**DESCENT, "start": "gold"})]}, "'a'"),
        ({"callbacks": [tracing(a={"type": "discrete", "num_samples": 2})]}, "'a'"),
        ({"callbacks": [tracing()]}, "samplers"),
        ({"callbacks": [{"type": "tune_thresholds", "metric": "macro_f1"}]}, "'macro_f1'"),
        ({"callbacks": ["tune_thresholds"], "validation_data_path": ...}, "validation_data_path"),
        ({"validation_data_path": ...}, "validation_data_path"),
    ],
)
def test_mistakes_are_named(tmp_path, more, named):
    with pytest.raises(ConfigurationError, match=named):
        build(settings_of(tmp_path, **more), tmp_path / "run").train()


LAST = {"validation_data_path": ..., "trainer__validation_metric": "-loss"}


def traced_networks(kind="stacked", every=None, own=False, **more):
    settings = config("margin", energy_weight=1.0, **more)
    if kind is not None:
        settings["model"].update(
            cost_augmented_net={"type": kind},
            sampler={"type": "stack", "samplers": ["cost_augmented_output", "task_net_output"]},
            energy_loss={"type": "compound", "separate": True},
            task_loss={"type": "inference_network"},
        )
    callback = {"type": "trace_inference_networks", "every": every, "after_own_steps": own}
    settings["trainer"]["callbacks"] = [callback]
    return settings


def networks_read(folder):
    return read(folder, "inference_networks.csv")


@pytest.mark.parametrize("kind", ["stacked", "shared", None])
def test_the_numbers_are_those_of_single_instances(tmp_path, kind):
    """Against a pass over batches of one, which have no padding; gradients by `backward` on the whole mean."""
    trainer = build(traced_networks(kind, batch_size=5), tmp_path)
    model = trainer.model.double().train()
    found = trace(model, trainer.data_loader, L1Cost())
    assert model.training and not model.monitors.means()

    model.eval()
    singles = build(traced_networks(kind, batch_size=1), tmp_path / "singles").data_loader
    space, l1, l0, losses, energies = model.output_space, [], [], [], []
    others: dict[str, list[torch.Tensor]] = {name: [] for name in VALUES[2:6]}
    for batch in singles:
        state = model.state_of_all_nets(**batch)
        if len(state.logits) == 0:
            continue
        first = (state.logits if kind is None else state.cost_augmented).softmax(dim=-1)
        gold = torch.nn.functional.one_hot(state.gold, space.num_labels).to(first)
        features = model.loss_net.encode(state.inputs, state.hidden, state.mask)
        energy = [model.loss_net(features, y.unsqueeze(1), state.mask) for y in (first, state.logits.softmax(-1), gold)]
        l1.append((first - gold).abs().sum() - energy[0])
        more = (first - gold).abs().sum() - (state.logits.softmax(-1) - gold).abs().sum()
        for name, value in zip(others, (energy[2], energy[1], energy[0], more)):
            others[name].append(value)
        l0.append(torch.relu(l1[-1] + energy[2]))
        losses.append(model.loss_net_loss(state, model.sample(state)))
        energies.append(energy[1])
    assert len(l1) == 5
    assert found["l1"] == pytest.approx(torch.stack(l1).mean().item())
    assert found["l0"] == pytest.approx(torch.stack(l0).mean().item())
    if kind is None:
        for name in ("energy_cost_augmented", "cost_difference"):
            assert name not in found and others.pop(name)
    for name, values in others.items():
        assert found[name] == pytest.approx(torch.stack(values).mean().item()), name
    for name, value, net in (
        ("energy_gradient_norm", torch.stack(losses).mean(), model.loss_net),
        ("network_gradient_norm", torch.stack(energies).mean(), model.task_net),
    ):
        gradients = torch.autograd.grad(value, list(net.parameters()), retain_graph=True, allow_unused=True)
        norm = sum(float(gradient.square().sum()) for gradient in gradients if gradient is not None) ** 0.5
        assert found[name] == pytest.approx(norm) and norm > 0


def test_rows_of_a_run_and_nothing_else_is_moved(tmp_path):
    # Without validation data the run ends with the last weights, not with the best.
    traced = traced_networks(epochs=3, dropout=0.3, **LAST)
    plain = json.loads(json.dumps(traced))
    del plain["trainer"]["callbacks"]
    models = [trained(settings, tmp_path / name).model for name, settings in (("traced", traced), ("plain", plain))]
    assert same(*map(weights, models))
    rows = networks_read(tmp_path / "traced")
    assert list(rows[0]) == ["epoch", "batches", *VALUES]
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    per_epoch = rows[0]["batches"]
    assert [row["batches"] for row in rows] == [per_epoch, 2 * per_epoch, 3 * per_epoch]
    assert all(row["energy_gradient_norm"] > 0 and row["l0"] >= 0 for row in rows)


def test_a_recovered_run_measures_anew_what_came_after_its_checkpoint(tmp_path):
    build(traced_networks(epochs=3), tmp_path).train()
    whole = networks_read(tmp_path)
    # A checkpoint from before the last epoch, and a row from after it that must not stay.
    last = list(tmp_path.glob("*_state_e3_*"))
    assert len(last) == 2
    for file in last:
        file.unlink()
    before = (tmp_path / "inference_networks.csv").read_text()
    trained(traced_networks(epochs=3), tmp_path)
    assert networks_read(tmp_path) == whole
    assert (tmp_path / "inference_networks.csv").read_text() == before


def test_the_cost_is_that_of_the_energys_loss(tmp_path):
    settings = traced_networks("stacked", batch_size=3)
    settings["model"]["energy_loss"]["cost"] = {"type": "hamming"}
    settings["model"]["energy_loss"]["perceptron_weight"] = 0.0
    settings["trainer"]["task_net"]["optimizer"]["lr"] = settings["trainer"]["loss_net"]["optimizer"]["lr"] = 0.0
    trainer = trained(settings, tmp_path)
    (row,) = networks_read(tmp_path)
    model, losses = trainer.model.eval(), []
    for batch in trainer.data_loader:
        state = model.state_of_all_nets(**batch)
        losses.append((len(state.logits), float(model.loss_net_loss(state, model.sample(state)).detach())))
    count = sum(size for size, _ in losses)
    assert row["l0"] == pytest.approx(sum(size * loss for size, loss in losses) / count, rel=1e-5)


@pytest.mark.parametrize("first", ["task_net", "loss_net"])
def test_each_value_after_the_steps_of_its_own_player(tmp_path, first):
    """Against what is seen when the other player's turn, or the next batch, begins. Three steps of the task-net."""
    settings = traced_networks(every=3, own=True, dropout=0.3, trainer__first=first, trainer__task_net__steps=3, **LAST)
    trainer = build(settings, tmp_path)
    seen, turns = {}, []

    def look(player):
        turns.append(player)
        seen[player, trainer._total_batches_completed + 1] = trace(trainer.model, trainer.data_loader, L1Cost())

    trainer.between_turns.append(look)

    def look_after(trainer, _):
        second = {"task_net": "loss_net", "loss_net": "task_net"}[first]
        seen[second, trainer._total_batches_completed] = trace(trainer.model, trainer.data_loader, L1Cost())

    trainer._callbacks.append(EachBatch(look_after))
    trainer.train()
    assert turns == [first] * 4
    (row,) = networks_read(tmp_path)
    # A cost has no energy in it, nor gold's energy the networks.
    unmoved = {"task_net": "cost_difference", "loss_net": "energy_gold"}[first]
    for name in VALUES:
        player, other = "task_net", "loss_net"
        if name == "energy_gradient_norm":
            player, other = other, player
        assert row[name] == seen[player, 3][name], name
        if name != unmoved:
            assert row[name] != seen[other, 3][name], name


@pytest.mark.slow
@pytest.mark.parametrize("batch", [2, 5])
@pytest.mark.parametrize("save_every, every, own", [(3, 1, False), (1, 1, True), (3, None, True)])
def test_killed_within_an_epoch(tmp_path, save_every, every, own, batch):
    checkpointer = {"save_every_num_batches": save_every}
    more = {"trainer__checkpointer": checkpointer, "trainer__first": "task_net"}
    settings = traced_networks(every=every, own=own, epochs=2, dropout=0.3, **more)
    build(settings, tmp_path / "whole").train()
    kill_and_recover(settings, tmp_path / "killed", KillAt(batch))
    assert networks_read(tmp_path / "killed") == networks_read(tmp_path / "whole")


@pytest.mark.parametrize(
    "settings, named",
    [
        (traced_networks(every=0), "every"),
        (config("cross_entropy", trainer__callbacks=["trace_inference_networks"]), "loss_net"),
        (traced_networks(own=True, data_loader={"batch_size": 2, "max_instances_in_memory": 4}), "after_own_steps"),
        (traced_networks(data_loader__batches_per_epoch=1), "data_loader.batches_per_epoch"),
    ],
)
def test_mistakes_are_named_of_networks(tmp_path, settings, named):
    with pytest.raises(ConfigurationError, match=named):
        build(settings, tmp_path).train()
