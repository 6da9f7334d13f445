"""The alternating trainer, against one step after another written by hand in plain PyTorch."""

import copy
from typing import Any

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import GradientDescentTrainer
from torch.utils._python_dispatch import TorchDispatchMode

from seal.training import mixed_precision
from tests.mixed_precision import needs_bfloat16_lstms
from tests.training.runs import (
    LINEAR,
    PLATEAU,
    EachBatch,
    build,
    comparable,
    config,
    counted,
    differing,
    distance,
    linear_rates,
    players,
    record,
    same,
    sentence,
    weights,
)


def double(trainer: Any) -> Any:
    """Runs in float64, in which the hand-written step and the trainer agree to the last digits."""
    trainer.model.double()
    return trainer


def batches(trainer: Any) -> list[dict[str, Any]]:
    return list(trainer.data_loader)


# The reference: Algorithm 1 of the ICLR 2022 submission and its losses, written without the trainer, `seal.losses` or
# the model's own loss functions.


class Reference:
    """A trainer in float64, and what its steps should make of a copy of its model."""

    def __init__(self, settings, folder, reuse: bool = False) -> None:
        self.trainer = double(build(settings, folder))
        self.data = batches(self.trainer)
        self.model = copy.deepcopy(self.trainer.model).train()
        self.seed, self.reuse = torch.initial_seed() + 1, reuse
        self.features = self.features_with_graph = None
        self.weight = settings["model"]["task_loss"]["energy_weight"]
        self.phi = [p for n, p in self.model.named_parameters() if not n.startswith("loss_net.")]
        self.theta = list(self.model.loss_net.parameters())
        made = {}
        for name, parameters in (("task_net", self.phi), ("loss_net", self.theta)):
            lr = settings["trainer"][name]["optimizer"]["lr"]
            made[name] = torch.optim.AdamW(parameters, lr=lr, weight_decay=0.01)
        self.optimizers = made
        self.stream = None

    def epoch(self, *steps) -> None:
        """Of the trainer, and of these steps for each batch."""
        torch.manual_seed(3)
        self.trainer._train_epoch(0)
        torch.manual_seed(3)
        for batch in self.data:
            self.step(batch, *steps)

    def distance(self) -> float:
        return distance(weights(self.trainer.model), weights(self.model))

    def outside(self):
        """The loss-net's own random numbers."""
        reference = self

        class Stream:
            def __enter__(self):
                self.main = torch.get_rng_state()
                if reference.stream is None:
                    torch.manual_seed(reference.seed)
                else:
                    torch.set_rng_state(reference.stream)

            def __exit__(self, *_):
                reference.stream = torch.get_rng_state()
                torch.set_rng_state(self.main)

        return Stream()

    def task_net(self, batch):
        return self.model.task_state(**batch)

    def energy(self, state, outputs, features):
        return self.model.loss_net(features, outputs, state.mask)

    def encode(self, state) -> None:
        vectors = self.model.loss_net.vectors(state.inputs, state.hidden)
        self.vectors = vectors.detach()
        self.features_with_graph = self.model.loss_net.condition(vectors, state.inputs, state.mask)
        self.features = [None if feature is None else feature.detach() for feature in self.features_with_graph]

    def loss_net_step(self, state, drawn) -> None:
        if self.features_with_graph is None:
            self.encode(state)
        features, self.features_with_graph = self.features_with_graph, None
        # A draw and gold side by side, each with log P_N summed over its real tokens; every draw counts once.
        outputs = torch.cat([state.gold.unsqueeze(1), drawn], dim=1)
        log_prob = state.logits.detach().log_softmax(-1).unsqueeze(1).expand(-1, outputs.shape[1], -1, -1)
        log_prob = log_prob.gather(3, outputs.unsqueeze(-1)).squeeze(-1)
        noise = (log_prob * state.mask.unsqueeze(1)).sum(-1)
        rank = -self.energy(state, outputs, features) - noise
        self.update("loss_net", -rank.log_softmax(dim=1)[:, 0].mean(), self.theta)
        self.features = None

    def task_net_step(self, state) -> None:
        self.model.loss_net.eval()
        with torch.no_grad():
            features = self.model.loss_net.encode(state.inputs, state.hidden, state.mask)
            if self.reuse:
                # Of the vectors, what the loss-net makes of them after its update.
                renewed = self.model.loss_net.condition(self.vectors, state.inputs, state.mask)
                features = renewed if self.features is None else self.features
        probabilities = state.logits.softmax(-1) * state.mask.unsqueeze(-1)
        energy = self.energy(state, probabilities.unsqueeze(1), features).mean()
        gold = torch.nn.functional.one_hot(state.gold, state.logits.shape[-1])
        cross_entropy = -(state.logits.log_softmax(-1) * gold * state.mask.unsqueeze(-1)).sum((1, 2)).mean()
        self.model.loss_net.train()
        loss = self.weight * energy + cross_entropy + sum(state.auxiliary_losses.values())
        self.update("task_net", loss, self.phi)

    def update(self, player, loss, parameters) -> None:
        gradients = torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=True)
        norm = torch.stack([g.pow(2).sum() for g in gradients if g is not None]).sum().sqrt()
        scale = min(1.0, 10.0 / (float(norm) + 1e-6))
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = None if gradient is None else gradient * scale
        self.optimizers[player].step()

    def draw(self, state):
        space, logits = self.model.output_space, state.logits.detach()
        return space.sample(logits, 4, state.mask)

    def step(self, batch, first: str = "loss_net", n_e: int = 1, n_f: int = 1) -> None:
        state = self.task_net(batch) if first == "loss_net" and n_f else None
        if first == "task_net":
            for turn in range(n_f):
                state = self.task_net(batch)
                if self.reuse and turn == 0:
                    with self.outside():
                        self.encode(state)
                self.task_net_step(state)
            state = None
        if n_e:
            with self.outside():
                if state is None:
                    # A task-net that stays as it is has no dropout.
                    self.model.task_net.train(n_f > 0)
                    with torch.no_grad():
                        state = self.task_net(batch)
                    self.model.task_net.train()
                drawn = self.draw(state)
                for _ in range(n_e):
                    self.loss_net_step(state, drawn)
        if first == "loss_net":
            for _ in range(n_f):
                state = state if state is not None and state.logits.requires_grad else self.task_net(batch)
                self.task_net_step(state)
                state = None


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize(
    "first, n_e, n_f",
    [
        ("loss_net", 1, 1),
        ("loss_net", 3, 1),
        ("loss_net", 1, 3),
        ("loss_net", 2, 2),
        ("task_net", 1, 1),
        ("task_net", 2, 2),
        ("loss_net", 0, 2),
    ],
)
def test_steps_equal_the_reference(any_frozen_loss_net, tmp_path, first, n_e, n_f, share):
    """Dropout, sampling and clipping included; batches with rows for the predicate finder, and without."""
    settings = config(
        share_encoder=share,
        batch_size=4,
        trainer__first=first,
        trainer__loss_net__steps=n_e,
        trainer__task_net__steps=n_f,
        model__sampler__merge=False,
    )
    reference = Reference(settings, tmp_path)
    model, data = reference.trainer.model, reference.data
    with counted(model.task_net.encoder) as passes, counted(model.loss_net) as energies:
        reference.epoch(first, n_e, n_f)
    assert reference.distance() < 1e-9
    # The task-net runs again only where its weights have changed.
    wanted = {("loss_net", True): n_f, ("task_net", True): n_f + 1, ("loss_net", False): n_f}
    assert len(passes) == len(data) * wanted[first, n_e > 0]
    assert len(energies) == len(data) * (n_e + n_f)


def test_a_batch_without_an_instance_moves_no_player_by_momentum_or_decay(tmp_path):
    """Rows for the predicate finder: they have nothing to say of the loss-net, nor of the task-net's tags."""
    trainer = build(config(), tmp_path)
    trainer._train_epoch(0)
    before = weights(trainer.model)
    trainer.data_loader = [batches(trainer)[1]]
    trainer._train_epoch(1)
    moved = differing(before, weights(trainer.model))
    assert "_predicate_head.weight" in moved and "task_net.encoder._predicate.weight" in moved
    assert not [name for name in moved if name.startswith(("loss_net", "task_net._head"))]
    assert not trainer.optimizer.pauses


@pytest.mark.parametrize("reuse", [True, False])
@pytest.mark.parametrize("first", ["loss_net", "task_net"])
@pytest.mark.parametrize("n_e, n_f", [(1, 1), (3, 1), (1, 3)])
def test_reused_features(tmp_path, first, n_e, n_f, reuse):
    """
    From the loss-net's last pass where it is first, or else from the task-net's turn; with dropout. A reference that
    does not reuse them is another one.
    """
    settings = config(
        batch_size=4,
        trainer__first=first,
        trainer__reuse_features=True,
        trainer__loss_net__steps=n_e,
        trainer__task_net__steps=n_f,
        model__sampler__merge=False,
        model__loss_net__dropout=0.3,
    )
    reference = Reference(settings, tmp_path, reuse)
    with counted(reference.trainer.model.loss_net.encoder) as passes:
        reference.epoch(first, n_e, n_f)
    assert reference.distance() < 1e-9 if reuse else reference.distance() > 1e-6
    assert len(passes) == len(reference.data) * n_e


def test_the_reference_can_fail(tmp_path):
    """The task-net's update by the energy from before the loss-net's update is another one."""
    settings = config(batch_size=4, model__sampler__merge=False)
    reference = Reference(settings, tmp_path)
    torch.manual_seed(3)
    reference.trainer._train_epoch(0)
    torch.manual_seed(3)
    reference.step(reference.data[0], "loss_net", 0, 1)
    reference.step(reference.data[0], "loss_net", 1, 0)
    reference.step(reference.data[1])
    assert reference.distance() > 1e-5


@pytest.mark.parametrize("first", ["loss_net", "task_net"])
@pytest.mark.parametrize("share", [False, True])
def test_each_phase_leaves_the_other_player_alone(tmp_path, first, share):
    settings = config(
        share_encoder=share,
        trainer__first=first,
        trainer__loss_net__steps=2,
        trainer__task_net__steps=2,
        trainer__grad_clipping=0.5,
    )
    trainer = build(settings, tmp_path)
    moved: list[str] = []
    original = trainer.optimizer.step

    def step(*args):
        before = players(trainer.model)
        idle = "loss_net" if trainer.optimizer.turn == "task_net" else "task_net"
        gradients = [p.grad for g in trainer.optimizer.players[idle].param_groups for p in g["params"]]
        assert all(gradient is None for gradient in gradients)
        original(*args)
        after = players(trainer.model)
        assert same(before[idle], after[idle])
        # A batch of rows for the predicate finder alone says nothing of the loss-net.
        assert same(before[trainer.optimizer.turn], after[trainer.optimizer.turn]) == trainer.optimizer.pauses
        moved.append(trainer.optimizer.turn)

    trainer.optimizer.step = step
    trainer._train_epoch(0)
    other = "task_net" if first == "loss_net" else "loss_net"
    # The loss-net has its turns in the second batch, too, which has no frame.
    assert moved == [first, first, other, other] * 4


def test_a_frozen_loss_net_still_acts(any_frozen_loss_net, tmp_path):
    runs = {}
    for weight in (0.0, 0.5):
        settings = config(trainer__loss_net__steps=0, model__task_loss__energy_weight=weight)
        trainer = build(settings, tmp_path / str(weight))
        before = players(trainer.model)
        torch.manual_seed(3)
        trainer.train()
        after = players(trainer.model)
        assert same(before["loss_net"], after["loss_net"])
        assert list(trainer.optimizer.players) == ["task_net"]
        runs[weight] = after["task_net"]
    assert not same(runs[0.0], runs[0.5])


def test_a_phase_of_the_task_net_without_energy_is_cross_entropy_training(tmp_path):
    runs, steps = [], {"trainer__task_net__steps": 2}
    for method, more in (
        ("nce", {"trainer__phases": [{"epochs": 1, "train": "task_net", "energy": False}, {}], **steps}),
        ("cross_entropy", steps),
    ):
        trainer = build(config(method, epochs=2, **more), tmp_path / method[:2])
        before = players(trainer.model)
        torch.manual_seed(3)
        trainer._train_epoch(0)
        runs.append(players(trainer.model))
        assert same(before["loss_net"], runs[-1]["loss_net"])
        trainer._epochs_completed = 1
        trainer._train_epoch(1)
        if method == "nce":
            assert not same(before["loss_net"], players(trainer.model)["loss_net"])
    assert same(runs[0]["task_net"], runs[1]["task_net"])


def test_a_phase_of_both_without_energy_is_training_without_the_energy(tmp_path):
    runs = []
    phases = [{"epochs": 1, "energy": False}, {}]
    for more in ({"trainer__phases": phases}, {"model__task_loss__energy_weight": 0.0}):
        trainer = build(config(epochs=2, **more), tmp_path / str(len(runs)))
        epochs = []
        for epoch in range(2):
            trainer._epochs_completed = epoch
            trainer._train_epoch(epoch)
            epochs.append(weights(trainer.model))
        runs.append(epochs)
    assert same(runs[0][0], runs[1][0]) and not same(runs[0][1], runs[1][1])


def test_a_phase_of_the_loss_net(tmp_path):
    settings = config(
        epochs=2,
        trainer__phases=[{"epochs": 1, "train": "loss_net"}, {}],
        trainer__loss_net__steps=3,
        batch_size=4,
    )
    reference = Reference(settings, tmp_path)
    trainer, before = reference.trainer, players(reference.model)
    reference.epoch("loss_net", 3, 0)
    assert same(before["task_net"], players(trainer.model)["task_net"])
    assert reference.distance() < 1e-9
    trainer._epochs_completed = 1
    trainer._train_epoch(1)
    assert not same(before["task_net"], players(trainer.model)["task_net"])


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"trainer__first": "task_net"},
        {"trainer__num_gradient_accumulation_steps": 2},
        {"trainer__task_net__steps": 2},
        {"data_loader__shuffle": True, "trainer__task_net__learning_rate_scheduler": LINEAR},
    ],
    ids=["plain", "task_net_first", "accumulation", "steps", "shuffle"],
)
def test_energy_weight_0_is_cross_entropy_training_bit_for_bit(tmp_path, more):
    runs, metrics = [], []
    for method in ("nce", "cross_entropy"):
        kept = {k: v for k, v in more.items() if method == "nce" or k != "trainer__first"}
        trainer = build(config(method, epochs=2, energy_weight=0.0, **kept), tmp_path / method[:2])
        metrics.append(comparable(trainer.train()))
        runs.append(players(trainer.model))
    assert same(runs[0]["task_net"], runs[1]["task_net"])
    for name, value in metrics[1].items():
        # `loss` is that of the turn that comes last, which may be the loss-net's.
        assert metrics[0][name] == value or (name == "training_loss" and "trainer__first" in more), name


def test_equals_allennlps_own_trainer_without_a_loss_net(tmp_path):
    """Cross-entropy alone, against AllenNLP's `gradient_descent` with its `grad_norm` and scheduler."""
    # All rows in one batch: AllenNLP also updates, by 0, what a batch does not reach.
    settings = config("cross_entropy", epochs=3, batch_size=8, trainer__task_net__learning_rate_scheduler=LINEAR)
    ours = double(build(settings, tmp_path / "ours"))
    player = settings["trainer"].pop("task_net")
    settings["trainer"].update(player, type="gradient_descent")
    theirs = double(build(settings, tmp_path / "theirs"))
    assert type(theirs) is GradientDescentTrainer
    for trainer in (ours, theirs):
        torch.manual_seed(3)
        trainer.train()
    assert distance(weights(ours.model), weights(theirs.model)) < 1e-9


# Logging.


@pytest.mark.parametrize("n_e, n_f", [(1, 1), (3, 2)])
def test_metrics_of_training(tmp_path, monkeypatch, n_e, n_f):
    trainer = build(config(trainer__loss_net__steps=n_e, trainer__task_net__steps=n_f), tmp_path)
    said: dict[str, list[float]] = {}
    for player in ("task_net", "loss_net"):
        original = getattr(trainer.model, f"{player}_loss")

        def recording(*args, original=original, player=player):
            loss = original(*args)
            if len(args[0].gold) or player == "task_net":
                said.setdefault(f"{player}_loss", []).append(loss.item())
            return loss

        monkeypatch.setattr(trainer.model, f"{player}_loss", recording)
    batch_losses: list[float] = []
    trainer._callbacks.append(EachBatch(lambda _, metrics: batch_losses.append(metrics["batch_loss"])))
    metrics = trainer._train_epoch(0)
    names = {"loss_net_loss", "task_net_loss", "energy_gold", "energy_prediction", "cross_entropy"}
    assert names | {"grad_norm_task_net", "grad_norm_loss_net", "predicate_loss", "loss"} <= metrics.keys()
    for name, values in said.items():
        assert metrics[name] == pytest.approx(sum(values) / len(values))
    # `loss` is that of each batch's last turn, the task-net's.
    last = said["task_net_loss"][n_f - 1 :: n_f]
    assert metrics["loss"] == pytest.approx(sum(last) / len(last))
    assert batch_losses == pytest.approx(last)
    assert trainer.model.monitors.means() == {}


def test_gradient_norms_are_those_before_clipping(tmp_path, watch):
    trainer = build(config(trainer__task_net__grad_norm=0.01, trainer__loss_net__grad_norm=..., batch_size=8), tmp_path)
    norms: dict[str, float] = {}

    def note(*_):
        gradients = [p.grad for p in trainer.optimizer.parameters() if p.grad is not None]
        norms[trainer.optimizer.turn] = float(torch.stack([g.pow(2).sum() for g in gradients]).sum().sqrt())

    watch(trainer.optimizer, "step", note)
    metrics = trainer._train_epoch(0)
    assert norms["task_net"] == pytest.approx(0.01, rel=1e-3) and metrics["grad_norm_task_net"] > 1
    assert norms["loss_net"] == pytest.approx(metrics["grad_norm_loss_net"])


def test_grad_clipping_holds_in_every_turn(tmp_path, watch):
    trainer = build(
        config(trainer__grad_clipping=1e-3, trainer__loss_net__steps=2, trainer__task_net__steps=2), tmp_path
    )
    largest: list[float] = []

    def note(*_):
        gradients = [p.grad for p in trainer.optimizer.parameters() if p.grad is not None]
        largest.append(max(float(gradient.abs().max()) for gradient in gradients))

    watch(trainer.optimizer, "step", note)
    trainer._train_epoch(0)
    assert len(largest) == 16 and max(largest) <= 1e-3 * (1 + 1e-6)


def test_tensorboard(tmp_path, watch):
    callback = {"type": "tensorboard", "summary_interval": 1, "should_log_learning_rate": True}
    callback.update(distribution_interval=2, batch_size_interval=1)
    trainer = build(
        config(
            trainer__callbacks=[callback],
            trainer__loss_net__optimizer__lr=0.25,
            trainer__run_confidence_checks=True,
            trainer__num_gradient_accumulation_steps=2,
        ),
        tmp_path,
    )
    logged: dict[str, float] = {}

    def note(scalars, log_prefix="", **_):
        logged.update({f"{log_prefix}/{name}": value for name, value in scalars.items()})

    watch(trainer._callbacks[0], "log_scalars", note)
    trainer.train()
    rates = {name: value for name, value in logged.items() if name.startswith("learning_rate/")}
    assert {value for name, value in rates.items() if "/loss_net." in name} == {0.25}
    assert {value for name, value in rates.items() if "/loss_net." not in name} == {5e-3}
    assert len(rates) == len(list(trainer.model.parameters()))
    assert "train/batch_loss_net_loss" in logged and "train/grad_norm_task_net" in logged
    assert list((tmp_path / "log" / "train").iterdir())


# Mixed precision, without a GPU.


class FakeScaler:
    """`GradScaler` in its order of calls: it refuses what the real one refuses."""

    def __init__(self, log: list[str], factor: float = 1024.0) -> None:
        self.log, self.factor, self.unscaled = log, factor, False
        self._per_optimizer_states = None

    def scale(self, loss):
        self.log.append("scale")
        loss.register_hook(lambda gradient: self.log.append("backward"))
        return loss * self.factor

    def unscale_(self, optimizer):
        assert not self.unscaled, "unscale_() has already been called"
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        assert any(parameter.grad is not None for parameter in parameters)
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad /= self.factor
        self.unscaled = True
        self.log.append("unscale")

    def step(self, optimizer):
        assert self.unscaled
        self.log.append("step")
        optimizer.step()

    def update(self):
        self.unscaled = False
        self.log.append("update")

    def state_dict(self):
        return {"factor": self.factor}

    def load_state_dict(self, state):
        self.factor = state["factor"]


def test_mixed_precision_scales_unscales_clips_and_steps_in_that_order(tmp_path):
    from torch.cuda.amp.grad_scaler import OptState

    runs, log = [], []
    for scaled in (False, True):
        settings = config(
            trainer__loss_net__steps=2,
            trainer__task_net__steps=2,
            trainer__num_gradient_accumulation_steps=2,
            trainer__grad_clipping=0.05,
        )
        trainer = double(build(settings, tmp_path / str(scaled)))
        if scaled:
            scaler = trainer._scaler = FakeScaler(log)
            state = {id(trainer.optimizer): {"stage": OptState.UNSCALED}}
            scaler._per_optimizer_states = state
            record(trainer, "rescale_gradients", log, lambda: "clip")
        torch.manual_seed(3)
        trainer.train()
        runs.append(weights(trainer.model))
    # 1024 is a power of two: scaling it in and out changes no bit.
    assert same(*runs)
    turn = ["scale", "backward"] * 2 + ["clip", "unscale", "step", "update"]
    assert log == turn * 4 * 2


def test_an_overflow_under_a_scaler_is_neither_an_error_nor_logged(tmp_path):
    trainer = build(config(), tmp_path)
    trainer._scaler = FakeScaler([])
    parameter = trainer.optimizer.parameters()[0]
    parameter.grad = torch.full_like(parameter, float("inf"))
    assert trainer.rescale_gradients() == float("inf")
    assert trainer.model.monitors.means() == {}


def test_a_recovered_run_scales_as_the_killed_one_did(tmp_path):
    killed = build(config(), tmp_path)
    killed._scaler = FakeScaler([], factor=4096.0)
    killed._checkpointer.save_checkpoint(killed)
    recovered = build(config(), tmp_path)
    recovered._scaler = FakeScaler([])
    recovered._maybe_restore_checkpoint()
    assert recovered._scaler.factor == 4096.0


def test_autocast_sees_updated_weights(tmp_path, monkeypatch):
    """Autocast keeps low-precision copies of the weights, here within one block around all turns."""
    settings = config(trainer__loss_net__steps=2, trainer__task_net__steps=2, dropout=0.0, batch_size=8)
    trainer = build(settings, tmp_path)
    model, compared = trainer.model.train(), []

    def values(returned):
        if isinstance(returned, list):
            return [value for value in returned if value is not None]
        return [returned if isinstance(returned, torch.Tensor) else returned.logits]

    def check(name):
        original = getattr(model, name)

        def checked(*args, **kwargs):
            found = original(*args, **kwargs)
            with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
                wanted = original(*args, **kwargs)
            compared.append(all(torch.equal(*tensors) for tensors in zip(values(found), values(wanted))))
            return found

        monkeypatch.setattr(model, name, checked)

    for name in ("task_state", "features", "task_net_loss", "loss_net_loss"):
        check(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        trainer.training_loss(batches(trainer)[0])
    # The task-net's pass and loss twice, the loss-net's loss twice, its features for each of its losses and once more.
    assert compared == [True] * 9


class Products(TorchDispatchMode):
    """What types the matrix products of a part of a program have."""

    def __init__(self):
        super().__init__()
        self.types = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        if function in (torch.ops.aten.addmm.default, torch.ops.aten.mm.default):
            self.types.add(found.dtype)
        return found


@needs_bfloat16_lstms
@pytest.mark.parametrize(
    "n_e, n_f, group, first, reuse",
    [
        (1, 1, 1, "loss_net", False),
        (3, 2, 1, "loss_net", False),
        (2, 1, 2, "loss_net", False),
        (1, 1, 1, "loss_net", True),
        (1, 2, 1, "task_net", True),
    ],
)
def test_mixed_precision_on_a_cpu_trains_alike(tmp_path, n_e, n_f, group, first, reuse):
    metrics, types = {}, {}
    for mixed in (False, True):
        settings = config(
            trainer__use_amp=mixed,
            trainer__cuda_device=-1,
            trainer__first=first,
            trainer__reuse_features=reuse,
            trainer__loss_net__steps=n_e,
            trainer__task_net__steps=n_f,
            trainer__num_gradient_accumulation_steps=group,
        )
        trainer = build(settings, tmp_path / str(mixed))
        with Products() as products:
            metrics[mixed] = trainer.train()
        types[mixed] = products.types
        assert {parameter.dtype for parameter in trainer.model.parameters()} == {torch.float}
    assert types == {False: {torch.float}, True: {torch.float, torch.bfloat16}}
    # A trained model is validated as it predicts, though AllenNLP's loop validates under autocast.
    loader = trainer._validation_data_loader
    with Products() as products, torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        trainer.batch_outputs(next(iter(loader)), for_training=False)
    assert products.types == {torch.float}
    names = [name for name in metrics[False] if "loss" in name or name.startswith("training_grad_norm")]
    assert {"training_grad_norm_loss_net", "training_grad_norm_task_net", "validation_loss"} <= set(names)
    for name in names:
        assert metrics[True][name] != metrics[False][name]
        assert metrics[True][name] == pytest.approx(metrics[False][name], rel=0.05), name


@needs_bfloat16_lstms
def test_no_turn_has_a_backward_pass_under_autocast(tmp_path):
    settings = config(
        trainer__use_amp=True, trainer__cuda_device=-1, trainer__loss_net__steps=2, trainer__task_net__steps=2
    )
    trainer = build(settings, tmp_path)
    mixed: dict[str, list[bool]] = {"task_net": [], "loss_net": []}
    for parameter in trainer.model.parameters():
        parameter.register_hook(lambda gradient: mixed[trainer.optimizer.turn].append(torch.is_autocast_enabled("cpu")))
    trainer._train_epoch(0)
    assert all(mixed.values()) and not any(mixed["task_net"] + mixed["loss_net"])


# Schedulers.


@pytest.mark.parametrize("n_e, n_f, group", [(1, 1, 1), (3, 2, 1), (2, 2, 2)])
def test_learning_rates_are_those_of_the_scheduler_alone(tmp_path, watch, n_e, n_f, group):
    settings = config(
        epochs=3,
        trainer__loss_net__steps=n_e,
        trainer__task_net__steps=n_f,
        trainer__num_gradient_accumulation_steps=group,
        trainer__task_net__learning_rate_scheduler=LINEAR,
        trainer__loss_net__learning_rate_scheduler={"type": "step", "step_size": 1, "gamma": 0.5},
    )
    trainer = build(settings, tmp_path)
    rates: dict[str, list[list[float]]] = {"task_net": [], "loss_net": []}

    def note(*_):
        turn = trainer.optimizer.turn
        rates[turn].append(trainer.optimizer.players[turn].param_groups[0]["lr"])

    watch(trainer.optimizer, "step", note)
    trainer.train()
    per_epoch = 4 // group
    assert rates["task_net"] == [rate for rate in linear_rates(3, per_epoch)[1:] for _ in range(n_f)]
    assert rates["loss_net"] == [5e-3 * 0.5**e for e in range(3) for _ in range(per_epoch * n_e)]


# The other parts of AllenNLP's trainer.


def test_early_stopping(tmp_path):
    settings = config(epochs=5, trainer__patience=1, trainer__task_net__optimizer__lr=0.0)
    metrics = build(settings, tmp_path).train()
    assert metrics["epoch"] == 1 and metrics["best_epoch"] == 0
    assert (tmp_path / "best.th").exists()


def test_moving_average(tmp_path):
    plain = build(config(), tmp_path / "plain")
    average = {"type": "exponential", "decay": 0.9}
    averaged = build(config(trainer__moving_average=average), tmp_path / "averaged")
    start = weights(averaged.model)
    steps: list[dict[str, torch.Tensor]] = []
    averaged._callbacks.append(EachBatch(lambda trainer, _: steps.append(weights(trainer.model))))
    for trainer in (plain, averaged):
        torch.manual_seed(3)
        trainer.train()
    assert same(steps[-1], weights(plain.model))
    for name, value in start.items():
        for update, step in enumerate(steps, 1):
            decay = min(0.9, (1 + update) / (10 + update))
            value = decay * value + (1 - decay) * step[name]
        assert torch.allclose(weights(averaged.model)[name], value, atol=1e-7)


def test_no_grad(tmp_path):
    trainer = build(config(trainer__no_grad=[r"^task_net\.encoder", r"^loss_net\.energies\.0"]), tmp_path)
    before = weights(trainer.model)
    trainer.train()
    moved = set(differing(before, weights(trainer.model)))
    frozen = {n for n in before if n.startswith(("task_net.encoder", "loss_net.energies.0"))}
    assert moved and not moved & frozen
    assert any(name.startswith("loss_net.") for name in moved)


# Mistakes.


@pytest.mark.parametrize(
    "more, named",
    [
        ({"trainer__frist": "task_net"}, ["trainer.frist", "first"]),
        ({"trainer__task_net__step": 2}, ["trainer.task_net.step", "steps"]),
        ({"trainer__task_net__optimizer__learning": 2}, ["learning"]),
        ({"trainer__phases": [{"epoch": 2}]}, ["trainer.phases.0.epoch"]),
        ({"trainer__first": "energy"}, ["trainer.first", "'energy'"]),
        ({"trainer__loss_net__steps": -1}, ["trainer.loss_net.steps", "-1"]),
        ({"trainer__loss_net__grad_norm": 0.0}, ["trainer.loss_net.grad_norm", "0.0"]),
        ({"trainer__phases": [{"train": "loss_net"}], "trainer__loss_net__steps": 0}, ["trainer.phases[0].train"]),
        ({"trainer__loss_net__steps": 0}, ["trainer.loss_net"]),
        ({"trainer__phases": [{"train": "task_net"}]}, ["model.loss_net.pretrained_file"]),
        ({"trainer__loss_net__steps": 0, "trainer__task_net__steps": 0}, ["steps"]),
        ({"trainer__reuse_features": True, "share_encoder": True}, ["trainer.reuse_features"]),
        ({"trainer__reuse_features": True, "trainer__phases": [{"train": "loss_net"}]}, ["trainer.reuse_features"]),
        ({"trainer__no_grad": ["^loss_net"]}, ["trainer.no_grad", "loss_net"]),
        ({"trainer__no_grad": ["embeder"]}, ["trainer.no_grad", "'embeder'"]),
        ({"trainer__no_grad": ["(head"]}, ["trainer.no_grad", "'(head'"]),
        ({"trainer__grad_clipping": -1.0}, ["trainer.grad_clipping", "-1.0"]),
        ({"trainer__cuda_device": "cuda:0"}, ["trainer.cuda_device", "'cuda:0'"]),
        ({"trainer__cuda_device": [0, 1]}, ["trainer.cuda_device", "distributed.cuda_devices"]),
        ({"method": "cross_entropy", "trainer__loss_net": {"steps": 1}}, ["trainer.loss_net"]),
        ({"trainer__use_amp": True}, ["trainer.use_amp", "bfloat16"]),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, monkeypatch, more, named):
    monkeypatch.setattr(mixed_precision, "has_bfloat16_lstms", lambda: False)
    told = sentence(config(**more), tmp_path)
    assert all(name in told for name in named)


ALLENNLPS = {"type": "gradient_descent", "optimizer": "adam", "cuda_device": -1}
WITHOUT_VALIDATION = {"validation_data_path": ..., "trainer__validation_metric": "-loss"}


@pytest.mark.parametrize(
    "more, named",
    [
        ({"trainer": ALLENNLPS}, "trainer.type"),
        (
            {"trainer__task_net__learning_rate_scheduler": PLATEAU, **WITHOUT_VALIDATION},
            "trainer.task_net.learning_rate_scheduler",
        ),
        ({"trainer__callbacks": [{"type": "should_validate_callback", "validation_interval": 2}]}, "trainer.callbacks"),
    ],
)
def test_what_cannot_be_trained_is_named(tmp_path, more, named):
    with pytest.raises(ConfigurationError, match=named):
        build(config(**more), tmp_path).train()
    assert not list(tmp_path.glob("model_state*"))
