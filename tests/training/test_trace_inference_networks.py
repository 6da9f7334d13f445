import csv
import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import TrainerCallback

from seal.scores import L1Cost
from seal.training.trace_inference_networks import VALUES, trace
from tests.segmentation import seal_parts, write_npz
from tests.training.runs import KillAt, Killed, build, config, kill_and_recover, same, train_until_killed, weights

LAST = {"validation_data_path": ..., "trainer__validation_metric": "-loss"}


def settings_of(kind="stacked", every=None, own=False, **more):
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


def read(folder):
    with (folder / "inference_networks.csv").open() as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize("kind", ["stacked", "shared", None])
def test_the_numbers_are_those_of_single_instances(tmp_path, kind):
    """Against a pass over batches of one, which have no padding; gradients by `backward` on the whole mean."""
    trainer = build(settings_of(kind, batch_size=5), tmp_path)
    model = trainer.model.double().train()
    found = trace(model, trainer.data_loader, L1Cost())
    assert model.training and not model.monitors.means()

    model.eval()
    singles = build(settings_of(kind, batch_size=1), tmp_path / "singles").data_loader
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
        losses.append(model.loss_net_loss(state, model.draw(state)))
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


def test_data_without_gold(tmp_path):
    trainer = build(settings_of(batch_size=5), tmp_path)
    untagged = [{name: value for name, value in batch.items() if name != "tags"} for batch in trainer.data_loader]
    with pytest.raises(ConfigurationError, match="'trace_inference_networks' always needs it"):
        trace(trainer.model, untagged, L1Cost())


def test_rows_of_a_run_and_nothing_else_is_moved(tmp_path):
    # Without validation data the run ends with the last weights, not with the best.
    traced = settings_of(epochs=3, dropout=0.3, **LAST)
    plain = json.loads(json.dumps(traced))
    del plain["trainer"]["callbacks"]
    models = []
    for name, settings in (("traced", traced), ("plain", plain)):
        trainer = build(settings, tmp_path / name)
        trainer.train()
        models.append(weights(trainer.model))
    assert same(*models)
    rows = read(tmp_path / "traced")
    assert list(rows[0]) == ["epoch", "batches", *VALUES]
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    per_epoch = rows[0]["batches"]
    assert [row["batches"] for row in rows] == [per_epoch, 2 * per_epoch, 3 * per_epoch]
    assert all(row["energy_gradient_norm"] > 0 and row["l0"] >= 0 for row in rows)


def test_the_draws_of_a_measurement_are_not_those_of_the_training(tmp_path):
    models = []
    for callbacks in ([], [{"type": "trace_inference_networks"}]):
        settings = config("nce", epochs=2, dropout=0.3, trainer__callbacks=callbacks, **LAST)
        trainer = build(settings, tmp_path / str(len(callbacks)))
        trainer.train()
        models.append(weights(trainer.model))
    assert same(*models)


def test_a_recovered_run_measures_anew_what_came_after_its_checkpoint(tmp_path):
    build(settings_of(epochs=3), tmp_path).train()
    whole = read(tmp_path)
    # A checkpoint from before the last epoch, and a row from after it that must not stay.
    last = list(tmp_path.glob("*_state_e3_*"))
    assert len(last) == 2
    for file in last:
        file.unlink()
    before = (tmp_path / "inference_networks.csv").read_text()
    trainer = build(settings_of(epochs=3), tmp_path)
    trainer.train()
    assert read(tmp_path) == whole
    assert (tmp_path / "inference_networks.csv").read_text() == before


def test_the_cost_is_that_of_the_energys_loss(tmp_path):
    settings = settings_of("stacked", batch_size=3)
    settings["model"]["energy_loss"]["cost"] = {"type": "hamming"}
    settings["model"]["energy_loss"]["perceptron_weight"] = 0.0
    settings["trainer"]["task_net"]["optimizer"]["lr"] = settings["trainer"]["loss_net"]["optimizer"]["lr"] = 0.0
    trainer = build(settings, tmp_path)
    trainer.train()
    (row,) = read(tmp_path)
    model, losses = trainer.model.eval(), []
    for batch in trainer.data_loader:
        state = model.state_of_all_nets(**batch)
        losses.append((len(state.logits), float(model.loss_net_loss(state, model.draw(state)).detach())))
    count = sum(size for size, _ in losses)
    assert row["l0"] == pytest.approx(sum(size * loss for size, loss in losses) / count, rel=1e-5)


def test_every_so_many_batches(tmp_path):
    trainer = build(settings_of(every=2, epochs=2), tmp_path)
    trainer.train()
    total = trainer._total_batches_completed
    assert [row["batches"] for row in read(tmp_path)] == list(range(2, total + 1, 2))


def test_a_row_is_of_the_weights_after_its_batches(tmp_path):
    """Measured as often as there are batches an epoch, it is what the end of each epoch shows."""
    trainer = build(settings_of(epochs=2), tmp_path / "epochs")
    trainer.train()
    per_epoch = trainer._total_batches_completed // 2
    build(settings_of(every=per_epoch, epochs=2), tmp_path / "batches").train()
    assert read(tmp_path / "batches") == read(tmp_path / "epochs")


@pytest.mark.parametrize("first", ["task_net", "loss_net"])
def test_each_value_after_the_steps_of_its_own_player(tmp_path, first):
    """Against what is seen when the other player's turn, or the next batch, begins. Three steps of the task-net."""
    settings = settings_of(every=3, own=True, dropout=0.3, trainer__first=first, trainer__task_net__steps=3, **LAST)
    trainer = build(settings, tmp_path)
    seen, turns = {}, []

    def look(player):
        turns.append(player)
        seen[player, trainer._total_batches_completed + 1] = trace(trainer.model, trainer.data_loader, L1Cost())

    trainer.between_turns.append(look)

    class AfterBatch(TrainerCallback):
        def on_batch(self, trainer, *args, **kwargs) -> None:
            second = {"task_net": "loss_net", "loss_net": "task_net"}[first]
            seen[second, trainer._total_batches_completed] = trace(trainer.model, trainer.data_loader, L1Cost())

    trainer._callbacks.append(AfterBatch(""))
    trainer.train()
    assert turns == [first] * 4
    (row,) = read(tmp_path)
    # A cost has no energy in it, nor gold's energy the networks.
    unmoved = {"task_net": "cost_difference", "loss_net": "energy_gold"}[first]
    for name in VALUES:
        player, other = "task_net", "loss_net"
        if name == "energy_gradient_norm":
            player, other = other, player
        assert row[name] == seen[player, 3][name], name
        if name != unmoved:
            assert row[name] != seen[other, 3][name], name


def test_the_last_batch_of_an_epoch_and_nothing_else_is_moved(tmp_path):
    """With fresh batches: the row is that of the networks before the energy's last update."""
    models = []
    for traced in (True, False):
        more = {"trainer__first": "task_net", "trainer__task_net__steps": 3, "trainer__fresh_batches": True}
        settings = settings_of(epochs=2, own=True, dropout=0.3, **more, **LAST)
        settings["trainer"]["callbacks"] *= traced
        trainer = build(settings, tmp_path / str(traced))
        trainer.train()
        models.append(weights(trainer.model))
    assert same(*models)
    rows = read(tmp_path / "True")
    assert [(row["epoch"], row["batches"]) for row in rows] == [(0, 2), (1, 4)]


def test_a_phase_of_one_player_is_measured_after_its_batches(tmp_path):
    rows = []
    for own in (True, False):
        settings = settings_of(epochs=2, own=own, trainer__phases=[{"epochs": 1, "train": "loss_net"}, {}], **LAST)
        build(settings, tmp_path / str(own)).train()
        rows.append(read(tmp_path / str(own)))
    # In the second phase the loss-net is first, so that the task-net's values are those of the end.
    assert rows[0][0] == rows[1][0]
    assert {name for name in VALUES if rows[0][1][name] != rows[1][1][name]} == {"energy_gradient_norm"}


def test_measuring_within_an_epoch_leaves_its_crops_alone(tmp_path):
    """They are drawn when a pass starts, and the measuring is a pass of its own."""
    models = []
    for every in (None, 1):
        reader = {"type": "seal_segmentation", "crop": 8, "mirror": True}
        player = {"optimizer": {"type": "adam", "lr": 0.01}}
        settings = {
            "random_seed": 13,
            "numpy_seed": 13,
            "pytorch_seed": 13,
            "dataset_reader": reader,
            "train_data_path": write_npz(tmp_path),
            "model": {
                "type": "seal_segmentation",
                "output_space": {"type": "binary_mask", "size": 8},
                **seal_parts(sampler="task_net_output", energy_loss={"type": "margin"}),
            },
            "data_loader": {"type": "tensors", "batch_size": 2, "shuffle": True},
            "trainer": {
                "type": "alternating",
                "num_epochs": 1,
                "cuda_device": -1,
                "callbacks": [{"type": "trace_inference_networks", "every": every}],
                "task_net": player,
                "loss_net": player,
            },
        }
        trainer = build(json.loads(json.dumps(settings)), tmp_path / str(every))
        trainer.train()
        models.append(weights(trainer.model))
    assert same(*models)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [2, 3, 4, 5])
@pytest.mark.parametrize("save_every, every, own", [(1, 1, False), (3, 1, False), (1, 1, True), (3, None, True)])
def test_killed_within_an_epoch(tmp_path, save_every, every, own, batch):
    checkpointer = {"save_every_num_batches": save_every}
    more = {"trainer__checkpointer": checkpointer, "trainer__first": "task_net"}
    settings = settings_of(every=every, own=own, epochs=2, dropout=0.3, **more)
    build(settings, tmp_path / "whole").train()
    kill_and_recover(settings, tmp_path / "killed", KillAt(batch))
    assert read(tmp_path / "killed") == read(tmp_path / "whole")


class KillAfterRow(TrainerCallback):
    """Ends the run when the first epoch's row is written, and the epoch's own checkpoint is not."""

    def on_epoch(self, trainer, *args, **kwargs) -> None:
        raise Killed()


def test_killed_between_the_row_of_an_epoch_and_its_checkpoint(tmp_path):
    settings = settings_of(epochs=2, trainer__checkpointer={"save_every_num_batches": 1})
    build(settings, tmp_path / "whole").train()
    train_until_killed(settings, tmp_path / "killed", KillAfterRow(""))
    assert len(read(tmp_path / "killed")) == 1
    build(settings, tmp_path / "killed").train()
    assert read(tmp_path / "killed") == read(tmp_path / "whole")


@pytest.mark.parametrize("accumulated", [1, 2])
def test_an_epoch_of_a_part_of_the_data_is_refused(tmp_path, accumulated):
    settings = settings_of(trainer__num_gradient_accumulation_steps=accumulated)
    settings["data_loader"]["batches_per_epoch"] = 1
    with pytest.raises(ConfigurationError, match="measures on all training pairs, and data_loader.batches_per_epoch"):
        build(settings, tmp_path).train()


@pytest.mark.parametrize(
    "settings, message",
    [
        (settings_of(every=0), "every of 'trace_inference_networks' must be at least 1, found 0"),
        ({**config("cross_entropy"), "callbacks": True}, "is for models with a task_net and a loss_net"),
        (
            settings_of(own=True, data_loader={"batch_size": 2, "max_instances_in_memory": 4}),
            "the data_loader does not know which that is; set every to a number of batches",
        ),
    ],
)
def test_mistakes_end_in_a_sentence(tmp_path, settings, message):
    if settings.pop("callbacks", None):
        settings["trainer"]["callbacks"] = ["trace_inference_networks"]
    with pytest.raises(ConfigurationError, match=message):
        build(settings, tmp_path).train()
