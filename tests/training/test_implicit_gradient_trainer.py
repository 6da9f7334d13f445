import copy
import weakref
from dataclasses import replace

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients import ConjugateGradient, Curvature, NonFiniteValue, hypergradient
from seal.hypergradients.products import AutogradProducts, FiniteDifferenceProducts
from seal.losses import Comparison
from seal.samplers import with_gradient
from seal.training import NonFiniteLoss
from seal.training.bilevel import Bilevel
from seal.training.implicit_gradient_trainer import SurrogateLoss
from seal.two_player import LOSS_NET, TASK_NET, MicroBatch
from tests.multilabel import LOSS_NET as LOSS_NET_PARAMS
from tests.multilabel import TASK_NET as TASK_NET_PARAMS
from tests.multilabel import run_settings, write_data
from tests.spine import FINDER_ROWS, FRAMES, seal_model, srl_batch
from tests.training import runs
from tests.training.runs import loss_of

CD = {
    "sampler": {"type": "discrete", "num_samples": 4},
    "energy_loss": {"type": "contrastive_divergence"},
}
SSVM = {
    "sampler": {"type": "task_net_output"},
    "energy_loss": {"type": "margin", "cost": {"type": "one_minus", "score": {"type": "soft_f1"}}},
}
DVN = {"sampler": {"type": "task_net_output"}, "energy_loss": {"type": "regression"}}
# The fourth primary loss, and the auxiliary loss from before the two networks are merged.
COMPOUND = {
    "sampler": {"type": "task_net_output"},
    "energy_loss": {"type": "compound", "cost": {"type": "l1"}, "perceptron_weight": 0.7},
}
MARGIN_STYLE = {
    **DVN,
    "task_loss": {
        "type": "inference_network",
        "energy_weight": 0.5,
        "perceptron_weight": 0.3,
        "cross_entropy_weight": 1.0,
        "cost": {"type": "one_minus", "score": {"type": "soft_f1"}},
    },
}
# Each network's candidate, and candidates that are functions of none.
ANCHORED = {**DVN, "sampler": {"type": "stack", "samplers": ["task_net_output", "gold"]}}
SEPARATE = {
    "sampler": {"type": "stack", "samplers": ["cost_augmented_output", "task_net_output"]},
    "energy_loss": {"type": "compound", "cost": {"type": "l1"}, "perceptron_weight": 0.7, "separate": True},
    "task_loss": {"type": "inference_network", "energy_weight": 0.5, "cost": {"type": "l1"}},
}
SHARED_LOSS_NET = {name: value for name, value in LOSS_NET_PARAMS.items() if name != "encoder"}
LOSSES = {"cd": CD, "ssvm": SSVM, "dvn": DVN, "compound": COMPOUND, "margin_style": MARGIN_STYLE}


def build(tmp_path, *args, **kwargs):
    return runs.build(settings_of(tmp_path, *args, **kwargs), tmp_path / "run")


def settings_of(tmp_path, loss=CD, kind="implicit_gradient", epochs=1, **trainer):
    player = {"optimizer": {"type": "sgd", "lr": 0.1}}
    nets = {"task_net": TASK_NET_PARAMS, "loss_net": LOSS_NET_PARAMS, "task_loss": {"energy_weight": 0.5}}
    players = {"task_net": player, "loss_net": player}
    return run_settings(
        write_data(tmp_path), {**nets, **loss}, {"batch_size": 3},
        type=kind, num_epochs=epochs, **{**players, **trainer},
    )  # fmt: skip


def flat(gradients, like):
    return torch.cat([(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in zip(gradients, like)])


def implicit_part(trainer, auxiliary, primary):
    """`- J^T (H + damping)^-1 d primary / d theta` from dense matrices of second derivatives."""
    theta = list(trainer.implicit.inner_parameters.values())
    psi = list(trainer.implicit.parameters_of(LOSS_NET).values())
    v = flat(torch.autograd.grad(primary, theta, allow_unused=True), theta)
    slope = flat(torch.autograd.grad(auxiliary, theta, create_graph=True, allow_unused=True), theta)
    rows = [torch.autograd.grad(s, theta + psi, retain_graph=True, allow_unused=True) for s in slope]
    hessian = torch.stack([flat(row[: len(theta)], theta) for row in rows])
    cross = torch.stack([flat(row[len(theta) :], psi) for row in rows])
    damped = hessian + trainer.implicit.settings.solver.damping * torch.eye(len(hessian), dtype=hessian.dtype)
    return -cross.t() @ torch.linalg.solve(damped, v)


def dense(trainer, part, through="straight_through"):
    """The explicit part, and the implicit one from dense matrices."""
    from seal.samplers import with_gradient

    model = trainer.model
    psi = list(trainer.implicit.parameters_of(LOSS_NET).values())
    state = model.task_state(**part.batch)
    attached = with_gradient(part.candidates, state.logits, model.output_space, through=through)
    features = model.loss_net.encode(state.inputs, state.hidden)
    outputs = model.output_space.stack(state.gold.unsqueeze(1), attached.outputs)
    energy = model.loss_net(features, outputs)
    comparison = Comparison(energy[:, 0], energy[:, 1:], attached, state.gold, model.output_space)
    primary = model.energy_loss(comparison).mean()
    explicit = flat(torch.autograd.grad(primary, psi, retain_graph=True, allow_unused=True), psi)
    state = model.task_state(**part.batch)
    energy = model.loss_net(model.loss_net.encode(state.inputs, state.hidden), model.output_space.relax(state.logits))
    auxiliary = model.output_space.cross_entropy(state.logits, state.gold)
    if type(model.task_loss).__name__ == "InferenceNetworkLoss":
        p = state.logits.sigmoid()
        cost = 1 - 2 * torch.minimum(p, state.gold).sum(1) / (p + state.gold).sum(1)
        auxiliary = auxiliary + 0.5 * (-cost + (1 + 0.3) * energy.squeeze(1))
    else:
        auxiliary = auxiliary + 0.5 * energy.squeeze(1)
    auxiliary = auxiliary.mean()
    assert float(model.joint_loss(part.batch).detach()) == pytest.approx(float(auxiliary.detach()))
    return explicit, implicit_part(trainer, auxiliary, primary)


EXACT = {"type": "exact", "damping": 5.0}
PRODUCTS = {"autograd": AutogradProducts, "finite_differences": FiniteDifferenceProducts}


def in_double(batch):
    return {name: tensor.double() for name, tensor in batch.items()}


def loss_nets_gradient(trainer):
    return torch.cat([p.grad.reshape(-1) for p in trainer.implicit.parameters_of(LOSS_NET).values()])


@pytest.mark.parametrize("products", sorted(PRODUCTS))
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_the_loss_nets_gradient_is_the_hypergradient(tmp_path, loss, products, monkeypatch):
    used = []
    for kind in PRODUCTS.values():
        cross = kind.cross
        monkeypatch.setattr(
            kind, "cross", lambda self, vector, cross=cross: used.append(type(self)) or cross(self, vector)
        )
    trainer = build(tmp_path, LOSSES[loss], solver=EXACT, products=products)
    model = trainer.model.double()
    part = MicroBatch(in_double(next(iter(trainer.data_loader))))
    value = loss_of(trainer, LOSS_NET, part)
    value.backward()
    found = loss_nets_gradient(trainer)
    assert used == [PRODUCTS[products]]
    explicit, implicit = dense(trainer, part)
    tolerance = 1e-9 if products == "autograd" else 1e-5
    assert torch.allclose(found, explicit + implicit, atol=tolerance)
    assert implicit.norm() > 100 * tolerance and explicit.norm() > 100 * tolerance
    metrics = model.get_metrics(reset=True)
    assert metrics["explicit_norm"] == pytest.approx(float(explicit.norm()), rel=1e-4)
    assert metrics["implicit_norm"] == pytest.approx(float(implicit.norm()), rel=1e-3)
    slopes = torch.autograd.grad(model.joint_loss(part.batch), list(trainer.implicit.parameters_of(TASK_NET).values()))
    slope = torch.cat([gradient.reshape(-1) for gradient in slopes]).norm()
    assert metrics["inner_gradient_norm"] == pytest.approx(float(slope), rel=1e-6) and slope > 1e-3
    assert float(value.detach()) == pytest.approx(metrics["loss_net_loss"])
    # The task-net has no part in it.
    assert all(p.grad is None for p in trainer.implicit.parameters_of(TASK_NET).values())


def outputs_of_all_nets(model, state):
    """What the candidates are, with the graph of the networks that they come from."""
    if state.cost_augmented is None:
        return [state.logits.sigmoid(), state.gold]
    return [state.cost_augmented.sigmoid(), state.logits.sigmoid()]


@pytest.mark.parametrize("kind", ["gold", "separated", "shared", "stacked"])
def test_each_candidate_is_a_function_of_its_own_network(tmp_path, kind):
    net = {"type": kind, "encoder": TASK_NET_PARAMS["encoder"]} if kind == "separated" else {"type": kind}
    loss = ANCHORED if kind == "gold" else {**SEPARATE, "cost_augmented_net": net}
    trainer = build(tmp_path, loss, solver=EXACT)
    model = trainer.model.double()
    part = MicroBatch(in_double(next(iter(trainer.data_loader))))
    loss_of(trainer, LOSS_NET, part).backward()
    found = loss_nets_gradient(trainer)

    state = model.state_of_all_nets(**part.batch)
    outputs = torch.stack(outputs_of_all_nets(model, state), dim=1)
    assert torch.equal(outputs, part.candidates.outputs)
    psi = list(trainer.implicit.parameters_of(LOSS_NET).values())
    primary = model.loss_net_loss(state, replace(part.candidates, outputs=outputs))
    explicit = flat(torch.autograd.grad(primary, psi, retain_graph=True, allow_unused=True), psi)
    implicit = implicit_part(trainer, model.joint_loss(part.batch), primary)
    assert implicit.norm() > 1e-3 * explicit.norm()
    assert torch.allclose(found, explicit + implicit, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("sampler", ["gold", {"type": "gradient_based_inference", "start": "task_net"}])
def test_candidates_of_no_network_are_refused(tmp_path, sampler):
    trainer = build(tmp_path, {**DVN, "sampler": sampler})
    part = MicroBatch(next(iter(trainer.data_loader)))
    with pytest.raises(ConfigurationError, match="sampler: none of its candidates is a function of"):
        loss_of(trainer, LOSS_NET, part)


def test_a_phase_of_the_loss_net_alone_has_no_implicit_part(tmp_path):
    """Nor has its frozen task-net dropout."""
    gradients = []
    for kind, more in (("implicit_gradient", {}), ("alternating", {"first": "task_net"})):
        (tmp_path / kind).mkdir()
        loss = {**CD, "task_net": {**TASK_NET_PARAMS, "dropout": 0.5}}
        phases = [{"epochs": 1, "train": "loss_net"}, {}]
        trainer = build(tmp_path / kind, loss, kind, epochs=2, phases=phases, **more)
        trainer.phases.enter(0, inside=False)
        trainer.plan = trainer._plan()
        part = MicroBatch(next(iter(trainer.data_loader)))
        loss_of(trainer, LOSS_NET, part).backward()
        gradients.append(torch.cat([p.grad.reshape(-1) for p in trainer.model.loss_net_parameters()]))
        assert torch.equal(part.state.logits, trainer.model.eval().task_state(**part.batch).logits)
    assert torch.equal(*gradients)


@pytest.mark.parametrize("products", sorted(PRODUCTS))
def test_the_inner_parameters_may_be_the_last_layer_alone(tmp_path, products):
    trainer = build(tmp_path, solver=EXACT, products=products, inner_parameters="last_layer")
    trainer.model.double()
    part = MicroBatch(in_double(next(iter(trainer.data_loader))))
    loss_of(trainer, LOSS_NET, part).backward()
    explicit, implicit = dense(trainer, part)
    tolerance = 1e-9 if products == "autograd" else 1e-5
    assert torch.allclose(loss_nets_gradient(trainer), explicit + implicit, atol=tolerance)
    assert implicit.norm() > 100 * tolerance
    assert list(trainer.implicit.inner_parameters) == ["task_net._head.weight"]
    trainer.implicit.settings.inner_parameters = ["[.]_head[.]"]
    del trainer.implicit.inner_parameters
    assert list(trainer.implicit.inner_parameters) == ["task_net._head.weight"]
    trainer.implicit.settings.inner_parameters = None
    del trainer.implicit.inner_parameters
    assert not torch.allclose(dense(trainer, part)[1], implicit, atol=tolerance)


def test_what_lies_below_the_inner_parameters_is_not_differentiated(tmp_path):
    """Neither of the task-net's two passes is backpropagated through below the last layer, or keeps a graph there."""
    trainer = build(tmp_path, inner_parameters="last_layer")
    passed = []
    trainer.model.task_net.encoder.register_full_backward_pre_hook(lambda *_: passed.append(1))
    part = MicroBatch(next(iter(trainer.data_loader)))
    vectors = []
    trainer.model.task_net.encoder.register_forward_hook(lambda module, inputs, output: vectors.append(output))
    loss_of(trainer, LOSS_NET, part).backward()
    assert not passed and [vector.requires_grad for vector in vectors] == [False, False]
    loss_of(trainer, TASK_NET, part).backward()
    assert passed


def weights(trainer):
    return runs.weights(trainer.model)


def test_without_the_implicit_part_it_is_alternating_training(tmp_path):
    results = []
    for kind, more in (("alternating", {"first": "task_net"}), ("implicit_gradient", {"implicit": False})):
        (tmp_path / kind).mkdir()
        trainer = build(tmp_path / kind, kind=kind, epochs=3, **more)
        trainer.train()
        results.append(weights(trainer))
    for name, value in results[0].items():
        assert torch.equal(value, results[1][name]), name
    (tmp_path / "both").mkdir()
    implicit = build(tmp_path / "both", epochs=3)
    implicit.train()
    assert any(not torch.equal(value, weights(implicit)[name]) for name, value in results[0].items())


def test_inner_steps_come_first(tmp_path):
    trainer = build(tmp_path, task_net={"optimizer": {"type": "sgd", "lr": 0.1}, "steps": 3})
    assert trainer.plan.order == [TASK_NET] * 3 + [LOSS_NET]


def test_a_killed_run_recovers_to_the_same_result(tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = build(tmp_path / "whole", epochs=4)
    whole.train()
    build(tmp_path / "parts", epochs=2).train()
    rest = build(tmp_path / "parts", epochs=4)
    rest.train()
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(rest)[name]), name


def test_accumulated_batches_give_the_mean_of_their_hypergradients(tmp_path):
    """Each batch has a system of its own, at the task-net after its update."""
    trainer = build(tmp_path, SSVM, solver=EXACT, num_gradient_accumulation_steps=2)
    model = trainer.model.double()
    group = next(iter(trainer.data_loader))
    for name, batch in group.items():
        group[name] = in_double(batch)
    before = weights(trainer)
    trainer.training_loss(group).backward()
    assert any(not torch.equal(value, before[name]) for name, value in weights(trainer).items())
    found, expected = loss_nets_gradient(trainer), []
    for batch in group.values():
        part = MicroBatch(batch, candidates=model.sample(model.state_of_all_nets(**batch)))
        expected.append(sum(dense(trainer, part)))
    assert len(expected) == 2 and (expected[0] - expected[1]).norm() > 1e-3
    assert torch.allclose(found, (expected[0] + expected[1]) / 2, atol=1e-9)


@pytest.mark.parametrize("through", ["straight_through", "soft", "none"])
def test_the_way_through_the_candidates(tmp_path, through):
    trainer = build(tmp_path, CD, solver=EXACT, through=through)
    model = trainer.model.double()
    part = MicroBatch(in_double(next(iter(trainer.data_loader))))
    loss_of(trainer, LOSS_NET, part).backward()
    implicit_norm = model.get_metrics()["implicit_norm"]
    if through == "none":
        assert implicit_norm == 0
        return
    explicit, implicit = dense(trainer, part, through)
    assert torch.allclose(loss_nets_gradient(trainer), explicit + implicit, atol=1e-9)
    assert implicit_norm == pytest.approx(float(implicit.norm())) and implicit_norm > 1e-4


def test_a_turn_of_the_loss_net_draws_from_its_own_stream(tmp_path):
    trainer = build(tmp_path)
    batch, before = next(iter(trainer.data_loader)), torch.get_rng_state()
    states = []
    for _ in range(2):
        loss_of(trainer, LOSS_NET, MicroBatch(batch))
        states.append(trainer.turns.stream.state[0])
    assert torch.equal(torch.get_rng_state(), before) and not torch.equal(*states)


def hypergradient_of_the_first_batch(trainer):
    loss_of(trainer, LOSS_NET, MicroBatch(next(iter(trainer.data_loader)))).backward()
    return loss_nets_gradient(trainer)


def test_the_default_solver_is_that_of_the_configs(tmp_path):
    results = []
    for solver in ({}, {"solver": {"type": "neumann", "damping": 0.1, "max_steps": 5}}):
        trainer = build(tmp_path, **solver)
        results.append(hypergradient_of_the_first_batch(trainer))
    assert torch.equal(*results)


def test_it_trains_tag_sequences_of_an_lstm(tmp_path):
    settings = runs.config(epochs=2, trainer__solver={"type": "conjugate_gradient", "damping": 1.0, "max_steps": 3})
    settings["trainer"]["type"] = "implicit_gradient"
    settings["model"]["energy_loss"] = {"type": "contrastive_divergence"}
    trainer = runs.build(settings, tmp_path / "run")
    metrics = trainer.train()
    assert metrics["training_implicit_norm"] > 0 and metrics["training_solver_steps"] >= 1


@pytest.mark.parametrize(
    "more, told",
    [
        ({"through": "hard"}, "trainer.through must be 'straight_through', "),
        ({"products": "symbolic"}, "trainer.products must be 'autograd' or 'finite_differences', found 'symbolic'"),
        ({"solver": {"type": "conjugate_gradients"}}, 'did you mean "conjugate_gradient"'),
        ({"solver": {"type": "neumann", "damping": -1}}, "solver.damping"),
        ({"solver": {"type": "sherman_morrison", "average": False}}, "trainer.solver.average: the task-net's loss is"),
        ({"reuse_features": True, "first": "loss_net"}, "trainer.reuse_features: the implicit gradient computes feat"),
        ({"implicitt": True}, 'config key "trainer.implicitt" is unknown to ImplicitGradientTrainer; did you mean'),
        ({"loss_net": {"steps": 0}}, "nothing trains the loss-net"),
        ({"task_net": {"steps": 0}}, "trains a task_net and a loss_net together"),
        ({"loss": {**CD, "task_loss": {"energy_weight": 0.0}}}, "the task-net does not follow the loss-net"),
        ({"loss": {**CD, "task_loss": {"type": "through_draws"}}}, "takes energies for constants"),
        ({"inner_parameters": "first_layer"}, "'last_layer' or a list of regular expressions, not 'first_layer'"),
        ({"inner_parameters": "last_layer", "no_grad": ["_head"]}, "'last_layer', and the task-net has none, or none"),
        ({"inner_parameters": []}, "trainer.inner_parameters: an empty list"),
        ({"inner_parameters": ["(head"]}, "trainer.inner_parameters: '\\(head' is not a regular expression"),
        ({"inner_parameters": ["_head", "^loss_net"]}, "'\\^loss_net' is found in the name of no parameter that"),
        (
            {"products": "finite_differences", "loss": {**CD, "task_loss": {"straight_through": True}}},
            "model.task_loss.straight_through: it counts as constant",
        ),
        (
            {"products": "finite_differences", "loss": {**SEPARATE, "cost_augmented_net": {"type": "stacked"}}},
            "model.cost_augmented_net: its input counts as constant",
        ),
        (
            {"products": "finite_differences", "loss": {**CD, "loss_net": SHARED_LOSS_NET}},
            "model.loss_net: its encoder is the task-net's, whose output for it counts as constant",
        ),
        ({"use_amp": True}, "trainer.use_amp: second derivatives need full precision"),
        ({"use_amp": True, "inner_parameters": ["task_net"]}, "trainer.use_amp: second derivatives need full"),
    ],
)
def test_wrong_settings(tmp_path, more, told):
    with pytest.raises(ConfigurationError, match=told):
        runs.build_as_train(settings_of(tmp_path, **more), tmp_path / "run")


def test_one_pass_draws_the_candidates_and_carries_the_gradient(tmp_path):
    """And one each for the two losses' own: no product runs the net again."""
    trainer = build(tmp_path, task_net={"optimizer": {"type": "sgd", "lr": 0.1}})
    calls = []
    trainer.model.task_net.register_forward_hook(lambda *_: calls.append(1))
    part = MicroBatch(next(iter(trainer.data_loader)))
    loss_of(trainer, LOSS_NET, part)
    assert len(calls) == 2


def wide(tmp_path, **trainer):
    """More features than rows, so that the first layer is solved for in the span of the batch's rows."""
    nets = {"task_net": net(), "loss_net": {**LOSS_NET_PARAMS, "encoder": net()["encoder"]}}
    built = build(tmp_path, {**CD, **nets}, **trainer)
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(3, 9, generator=generator, dtype=torch.double)
    built.model.double()
    gold = torch.tensor([[1, 0, 1], [0, 1, 1], [1, 1, 0]], dtype=torch.double)
    return built, {"features": features, "labels": gold}


def net():
    return {"encoder": {"type": "feature_mlp", "input_dim": 9, "hidden_dim": 4, "num_layers": 2}}


def test_the_span_of_a_batch_is_enough(tmp_path):
    trainer, batch = wide(tmp_path, solver={"type": "exact", "damping": 5.0})
    part = MicroBatch(batch)
    loss_of(trainer, LOSS_NET, part).backward()
    found = torch.cat([p.grad.reshape(-1) for p in trainer.implicit.parameters_of(LOSS_NET).values()])
    explicit, implicit = dense(trainer, part)
    assert torch.allclose(found, explicit + implicit, atol=1e-9) and implicit.norm() > 1e-3
    count = sum(p.numel() for p in trainer.implicit.parameters_of(TASK_NET).values())
    # 3 rows in place of 9 columns, of 4 units.
    assert trainer.model.get_metrics()["solver_steps"] == count - 6 * 4


@pytest.mark.parametrize(
    "player, told",
    [
        (LOSS_NET, "the outer loss is nan at batch 1 of epoch 0, so training stops"),
        (TASK_NET, "task_net's output is no longer finite at batch 1 of epoch 0, so training stops"),
    ],
)
def test_a_loss_that_is_not_finite_ends_in_a_sentence(tmp_path, player, told):
    """And before either player is moved."""
    # The loss-net is first: after a task-net step, a loss-net that is not finite would have spoilt the task-net.
    trainer = build(tmp_path, first="loss_net")
    with torch.no_grad():
        next(iter(trainer.implicit.parameters_of(player).values())).view(-1)[0] = float("nan")
    before = weights(trainer)
    with pytest.raises(NonFiniteLoss, match=told):
        trainer.train()
    after = weights(trainer)
    assert all(torch.equal(value.nan_to_num(7.0), after[name].nan_to_num(7.0)) for name, value in before.items())


def test_a_frozen_loss_net(tmp_path):
    trainer = build(tmp_path)
    for parameter in trainer.model.loss_net.parameters():
        parameter.requires_grad_(False)
    part = MicroBatch(next(iter(trainer.data_loader)))
    with pytest.raises(ConfigurationError, match="outer parameters 'loss_net.* is frozen"):
        loss_of(trainer, LOSS_NET, part)


@pytest.mark.parametrize(
    "solver, told",
    [
        ({"type": "neumann", "divisor": 1e-3, "max_steps": 5}, "the divisor 0.001 is below half the largest"),
        ({"type": "neumann", "max_steps": 1}, "after 1 steps: raise max_steps"),
    ],
)
def test_a_solver_in_trouble_is_told_once_and_training_goes_on(tmp_path, caplog, solver, told):
    trainer = build(tmp_path, epochs=4, solver={"damping": 1.0, **solver})
    trainer.train()
    messages = [r.message for r in caplog.records if "solver of the implicit gradient" in r.message]
    assert told in messages[0] and len(set(messages)) == len(messages) <= 5 < trainer._total_batches_completed
    assert all(torch.isfinite(value).all() for value in weights(trainer).values())


def test_a_residual_that_nobody_asked_for_is_no_trouble(tmp_path, caplog):
    solver = {"type": "neumann", "damping": 3.0, "max_steps": 1, "measure_residual": False}
    metrics = build(tmp_path, solver=solver).train()
    assert not any("solver of the implicit gradient" in record.message for record in caplog.records)
    assert "training_solver_residual" not in metrics and metrics["training_most_curvature"] > 0


def test_steps_whose_solution_is_worse_than_none_have_no_implicit_part_and_are_counted(tmp_path, caplog):
    (tmp_path / "worse").mkdir()
    metrics = build(tmp_path / "worse", solver={"type": "identity", "divisor": 1e-3}).train()
    assert metrics["training_solver_residual"] > 1 and metrics["training_solver_left_out"] == 1
    assert metrics["training_implicit_norm"] == 0 and "training_products_disagreement" not in metrics
    assert any("the implicit part is left out" in record.message for record in caplog.records)
    (tmp_path / "better").mkdir()
    settings = {"solver": {"type": "minres", "max_steps": 3}, "products": "finite_differences"}
    metrics = build(tmp_path / "better", **settings).train()
    assert metrics["training_solver_residual"] < 1 and metrics["training_solver_left_out"] == 0
    assert metrics["training_implicit_norm"] > 0 and metrics["training_products_disagreement"] < 0.1


def test_products_that_are_not_finite(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(AutogradProducts, "hessian", lambda self, vector: vector * float("nan"))
    trainer = build(tmp_path)
    trainer.train()
    assert any("product is not finite at step 1" in record.message for record in caplog.records)
    assert all(torch.isfinite(value).all() for value in weights(trainer).values())


@pytest.mark.parametrize("activation, warned", [("relu", True), ("leaky_relu", True), ("tanh", False), ("gelu", False)])
def test_kinked_activations_are_told(tmp_path, caplog, activation, warned):
    task_net = copy.deepcopy(TASK_NET_PARAMS)
    task_net["encoder"]["activation"] = activation
    build(tmp_path, {**CD, "task_net": task_net})
    told = [record.message for record in caplog.records if "second derivatives" in record.message]
    assert len(told) == warned and all("in the task_net" in message for message in told)
    # Below the only layer that counts, the activation does not matter.
    caplog.clear()
    build(tmp_path, {**CD, "task_net": task_net}, inner_parameters="last_layer")
    assert not [record for record in caplog.records if "second derivatives" in record.message]


LAST_LAYER = {"inner_parameters": "last_layer", "solver": {"type": "exact", "damping": 1.0}}


def test_mixed_precision_is_that_of_the_encoders_alone(tmp_path):
    full = last_layers_gradients(tmp_path / "full", use_amp=False)
    mixed = last_layers_gradients(tmp_path / "mixed", use_amp=True)
    for name, gradient in full.items():
        assert mixed[name].dtype == torch.float
        assert 0 < (mixed[name] - gradient).norm() / gradient.norm() < 0.03, name
    # With encoders that refuse, nothing is left that could differ.
    refused = last_layers_gradients(tmp_path / "refused", use_amp=True, refuse=True)
    assert all(torch.equal(refused[name], gradient) for name, gradient in full.items())


def last_layers_gradients(folder, use_amp, refuse=False):
    folder.mkdir()
    trainer = build(folder, {**CD, "task_loss": {"energy_weight": 2.0}}, use_amp=use_amp, **LAST_LAYER)
    model, part = trainer.model, MicroBatch(next(iter(trainer.data_loader)))
    if refuse:
        for net in (model.task_net, model.loss_net):
            net.encoder.forward = torch.autocast("cpu", enabled=False)(net.encoder.forward)
    # As in training, where the trainer opens a context around the batch.
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=use_amp):
        loss = loss_of(trainer, LOSS_NET, part)
    loss.backward()
    norms = model.get_metrics()
    assert norms["implicit_norm"] > 0.1 * norms["explicit_norm"]
    return {name: p.grad for name, p in trainer.implicit.parameters_of(LOSS_NET).items()}


def test_mixed_precision_trains(tmp_path):
    """In bfloat16 inside the encoders, at each player's turn; around them, an implicit gradient turns it off."""
    warm_up = [{"epochs": 1, "energy": False}, {}]
    trainer = build(tmp_path, epochs=2, use_amp=True, phases=warm_up, **LAST_LAYER)
    inside, around, energies, validated = set(), set(), set(), set()

    def at():
        return trainer._epochs_completed, trainer.optimizer.turn

    def note_inside(module, arguments, output):
        (inside if trainer.model.training else validated).add((*at(), output.dtype))

    def note_around(module, arguments):
        if trainer.model.training:
            around.add((*at(), torch.is_autocast_enabled("cpu")))

    for net in (trainer.model.task_net, trainer.model.loss_net):
        net.register_forward_pre_hook(note_around)
        for layer in net.encoder.modules():
            if isinstance(layer, torch.nn.Linear):
                layer.register_forward_hook(note_inside)
    for energy in trainer.model.loss_net.energies:
        energy.register_forward_hook(lambda module, arguments, output: energies.add(output.dtype))
    assert trainer.train()["training_implicit_norm"] > 0
    turns = [(epoch, player) for epoch in (0, 1) for player in (TASK_NET, LOSS_NET)]
    assert inside == {(*turn, torch.bfloat16) for turn in turns}
    # The first phase has no implicit gradient.
    assert around == {(*turn, turn != (1, LOSS_NET)) for turn in turns}
    assert energies == {torch.float} and {dtype for *_, dtype in validated} == {torch.float}


def test_mixed_precision_ends_with_an_error_inside(tmp_path):
    trainer = build(tmp_path, use_amp=True, **LAST_LAYER)

    def fail(*_):
        raise RuntimeError("no features")

    handle = trainer.model.loss_net.encoder.register_forward_pre_hook(fail)
    part = MicroBatch(next(iter(trainer.data_loader)))
    with pytest.raises(RuntimeError, match="no features"):
        loss_of(trainer, LOSS_NET, part)
    handle.remove()
    assert not torch.is_autocast_enabled("cpu")
    assert not trainer.model.loss_net.encoder._forward_hooks


# Options of bi-level training: where a solve starts and in which geometry, held-out outer losses, unrolled steps.


ADAM = {"optimizer": {"type": "fused_adamw", "lr": 0.01}, "steps": 2}
STARTED = {"type": "conjugate_gradient", "damping": 5.0, "max_steps": 2, "tolerance": 1e-9}


def outer_loader(data, **more):
    return {
        "type": "tensors",
        "reader": {"type": "seal_multilabel", **data["reader"]},
        "data_path": data["path"],
        "batch_size": 4,
        **more,
    }


def primary_of(model, batch):
    """`L_Prim` on the task-net's output, the only candidate of `SSVM`."""
    state = model.task_state(**batch)
    candidates = model.sample(state)
    attached = with_gradient(candidates, state.logits, model.output_space)
    return model.loss_net_loss(state, attached)


def derivatives(trainer, batch):
    """The task loss's slope with its graph, and its dense second derivatives in `theta` and in `psi` and `theta`."""
    theta = list(trainer.implicit.inner_parameters.values())
    psi = list(trainer.implicit.parameters_of(LOSS_NET).values())
    auxiliary = trainer.model.joint_loss(batch)
    slope = flat(torch.autograd.grad(auxiliary, theta, create_graph=True, allow_unused=True), theta)
    rows = [torch.autograd.grad(s, theta + psi, retain_graph=True, allow_unused=True) for s in slope]
    hessian = torch.stack([flat(row[: len(theta)], theta) for row in rows])
    return hessian, torch.stack([flat(row[len(theta) :], psi) for row in rows])


def gradients_of(trainer, loss):
    """The loss's gradients by `psi` and by `theta`."""
    parameters = [
        list(trainer.implicit.parameters_of(LOSS_NET).values()),
        list(trainer.implicit.inner_parameters.values()),
    ]
    return [flat(torch.autograd.grad(loss, of, retain_graph=True, allow_unused=True), of) for of in parameters]


def test_the_geometry_of_adam(tmp_path):
    trainer = build(tmp_path, SSVM, solver=EXACT, geometry="adam", task_net=ADAM)
    trainer.model.double()
    part = MicroBatch(in_double(next(iter(trainer.data_loader))))
    trainer.optimizer.turn = TASK_NET
    for _ in range(2):
        trainer.optimizer.zero_grad()
        loss_of(trainer, TASK_NET, MicroBatch(part.batch)).backward()
        trainer.optimizer.step()
    trainer.optimizer.zero_grad()
    loss_of(trainer, LOSS_NET, part).backward()
    found = loss_nets_gradient(trainer)

    states = trainer.optimizer.players[TASK_NET].state
    roots = torch.cat([states[p]["exp_avg_sq"].sqrt().reshape(-1) for p in trainer.implicit.inner_parameters.values()])
    metric = (roots / roots.mean()).clamp(min=0.01)
    assert metric.max() > 2 and metric.min() < 0.5
    explicit, v = gradients_of(trainer, primary_of(trainer.model, part.batch))
    hessian, cross = derivatives(trainer, part.batch)
    implicit = -cross.T @ torch.linalg.solve(hessian + 5.0 * torch.diag(metric), v)
    assert implicit.norm() > 1e-4 and torch.allclose(found, explicit + implicit, atol=1e-8)
    euclidean = -cross.T @ torch.linalg.solve(hessian + 5.0 * torch.eye(len(v), dtype=v.dtype), v)
    assert (implicit - euclidean).norm() > 0.01 * implicit.norm()


def test_the_outer_loss_may_be_that_of_held_out_batches(tmp_path):
    """One for each update, in turn; the task loss stays that of the batch."""
    from tests.multilabel import write_data

    (tmp_path / "held_out").mkdir()
    loader = outer_loader(write_data(tmp_path / "held_out"))
    trainer = build(tmp_path, SSVM, solver=EXACT, outer_data_loader=loader)
    trainer.model.double()
    batch = in_double(next(iter(trainer.data_loader)))
    kept = [in_double(one) for one in trainer.implicit.outer_batches]
    trainer.implicit.outer_batches = kept
    assert len(kept) > 1 and [len(one["labels"]) for one in kept[:2]] == [4, 1]
    hessian, cross = derivatives(trainer, batch)
    results = []
    for completed in (0, 1, len(kept)):
        trainer._total_batches_completed = completed
        trainer.model.zero_grad()
        loss_of(trainer, LOSS_NET, MicroBatch(batch)).backward()
        results.append(loss_nets_gradient(trainer))
        explicit, v = gradients_of(trainer, primary_of(trainer.model, kept[completed % len(kept)]))
        implicit = -cross.T @ torch.linalg.solve(hessian + 5.0 * torch.eye(len(v), dtype=v.dtype), v)
        assert implicit.norm() > 1e-4 and torch.allclose(results[-1], explicit + implicit, atol=1e-8)
    assert torch.equal(results[0], results[2]) and not torch.allclose(results[0], results[1])


def test_an_unrolled_inner_loop(tmp_path):
    """Against one graph through three steps; the nets are where they were."""
    unroll = {"num_steps": 3, "step_size": 0.4}
    trainer = build(tmp_path, SSVM, unroll=unroll)
    model = trainer.model.double()
    batch = in_double(next(iter(trainer.data_loader)))
    before = {name: value.clone() for name, value in weights(trainer).items()}
    loss_of(trainer, LOSS_NET, MicroBatch(batch)).backward()
    found = loss_nets_gradient(trainer)
    assert all(torch.equal(value, before[name]) for name, value in weights(trainer).items())
    metrics = model.get_metrics(reset=True)
    assert metrics["implicit_norm"] > 1e-4 and "solver_residual" not in metrics

    names, theta = list(trainer.implicit.inner_parameters), list(trainer.implicit.inner_parameters.values())
    psi = list(trainer.implicit.parameters_of(LOSS_NET).values())

    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, loss):
            return loss(model)

    def at(point, loss):
        return torch.func.functional_call(Loss(), {f"model.{name}": value for name, value in zip(names, point)}, loss)

    point = theta
    for _ in range(3):
        slope = torch.autograd.grad(at(point, lambda net: net.joint_loss(batch)), point, create_graph=True)
        point = [value - 0.4 * step for value, step in zip(point, slope)]
    primary = at(point, lambda net: primary_of(net, batch))
    expected = flat(torch.autograd.grad(primary, psi, allow_unused=True), psi)
    assert torch.allclose(found, expected, atol=1e-9)


def test_an_unrolled_run_trains(tmp_path):
    unroll = {"num_steps": 2, "step_size": 0.1, "backward_steps": 1}
    trainer = build(tmp_path, epochs=2, unroll=unroll)
    before = weights(trainer)
    trainer.train()
    assert any(not torch.equal(value, before[name]) for name, value in weights(trainer).items())


def test_a_solve_starts_where_the_last_one_ended(tmp_path):
    trainer = build(tmp_path, SSVM, solver=STARTED, warm_start=True)
    model = trainer.model.double()
    batch = in_double(next(iter(trainer.data_loader)))
    residuals = []
    for _ in range(4):
        loss_of(trainer, LOSS_NET, MicroBatch(batch))
        residuals.append(model.get_metrics(reset=True)["solver_residual"])
    # The same system again and again, by two steps each time.
    assert residuals[0] > 1e-3 and all(later < 0.7 * earlier for earlier, later in zip(residuals, residuals[1:]))
    cold = build(tmp_path, SSVM, solver=STARTED)
    assert cold.implicit.surrogate.solution is None


@pytest.mark.parametrize("geometry", ["euclidean", "adam"])
def test_a_killed_run_starts_where_it_was(tmp_path, geometry):
    settings = {"solver": STARTED, "warm_start": True, "geometry": geometry, "task_net": ADAM}
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    whole = build(tmp_path / "whole", SSVM, epochs=4, **settings)
    whole.train()
    build(tmp_path / "parts", SSVM, epochs=2, **settings).train()
    rest = build(tmp_path / "parts", SSVM, epochs=4, **settings)
    rest.train()
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(rest)[name]), name
    for name, value in whole.implicit.surrogate.solution.items():
        assert torch.equal(value, rest.implicit.surrogate.solution[name]), name


def test_damping_that_follows_the_curvature_is_logged(tmp_path):
    trainer = build(tmp_path, SSVM, solver={"type": "minres", "damping": 0.01, "relative_damping": 0.2})
    loss_of(trainer, LOSS_NET, MicroBatch(next(iter(trainer.data_loader))))
    metrics = trainer.model.get_metrics()
    least, most = metrics["least_curvature"], metrics["most_curvature"]
    expected = max(0.01, 0.2 * max(abs(least), abs(most)) - least)
    assert metrics["solver_damping"] == pytest.approx(expected, rel=1e-3) and expected > 0.011


@pytest.mark.parametrize(
    "settings, told",
    [
        ({"geometry": "adam"}, "trainer.geometry: 'adam', and the task-net's optimizer is"),
        ({"geometry": "flat"}, "trainer.geometry"),
        ({"unroll": {"num_steps": 0, "step_size": 1.0}}, "trainer.unroll.num_steps must be at least 1"),
        ({"unroll": {"num_steps": 1, "step_size": 0.0}}, "trainer.unroll.step_size must be above 0"),
        ({"unroll": {"num_steps": 1, "step_size": 1.0}, "solver": EXACT}, "trainer.solver: with 'unroll'"),
        ({"unroll": {"num_steps": 1, "step_size": 1.0}, "warm_start": True}, "trainer.warm_start: with 'unroll'"),
    ],
)
def test_mistakes(tmp_path, settings, told):
    with pytest.raises(ConfigurationError, match=told):
        build(tmp_path, SSVM, **settings)


# What the trainer hands to solvers that need more than products, and what it refuses.


def gradient_of(trainer, part):
    loss_of(trainer, LOSS_NET, part).backward()
    return torch.cat([p.grad.reshape(-1) for p in trainer.implicit.parameters_of(LOSS_NET).values()])


def test_sherman_morrison_sees_each_instance(tmp_path):
    """Against `damping I + mean of g_i g_i^T`, the `g_i` of instances one by one."""
    trainer, batch = wide(tmp_path, solver={"type": "sherman_morrison", "damping": 0.5, "measure_residual": False})
    model, part = trainer.model, MicroBatch(batch)
    found = gradient_of(trainer, part)
    inner, outer = (list(trainer.implicit.parameters_of(player).values()) for player in (TASK_NET, LOSS_NET))
    rows = []
    for index in range(3):
        alone = {name: tensor[index : index + 1] for name, tensor in batch.items()}
        rows.append(flat(torch.autograd.grad(model.joint_loss(alone), inner), inner))
    rows = torch.stack(rows)
    matrix = 0.5 * torch.eye(rows.shape[1], dtype=rows.dtype) + rows.t() @ rows / 3
    state = model.state_of_all_nets(**batch)
    primary = model.loss_net_loss(state, with_gradient(part.candidates, state.logits, model.output_space))
    explicit = flat(torch.autograd.grad(primary, outer, retain_graph=True, allow_unused=True), outer)
    v = flat(torch.autograd.grad(primary, inner, allow_unused=True), inner)
    slope = flat(torch.autograd.grad(model.joint_loss(batch), inner, create_graph=True), inner)
    implicit = flat(torch.autograd.grad(slope @ torch.linalg.solve(matrix, v), outer, allow_unused=True), outer)
    assert implicit.norm() > 1e-3 and torch.allclose(found, explicit - implicit, atol=1e-9)


def test_a_diagonal_is_that_of_the_parameters_themselves(tmp_path):
    """Exact, so that the span of a wide batch would show."""
    trainer, batch = wide(tmp_path, solver={"type": "diagonal", "damping": 5.0, "max_steps": 128})
    model, part = trainer.model, MicroBatch(batch)
    found = gradient_of(trainer, part)
    inner, outer = (list(trainer.implicit.parameters_of(player).values()) for player in (TASK_NET, LOSS_NET))
    state = model.state_of_all_nets(**batch)
    primary = model.loss_net_loss(state, with_gradient(part.candidates, state.logits, model.output_space))
    explicit = flat(torch.autograd.grad(primary, outer, retain_graph=True, allow_unused=True), outer)
    v = flat(torch.autograd.grad(primary, inner, allow_unused=True), inner)
    slope = flat(torch.autograd.grad(model.joint_loss(batch), inner, create_graph=True), inner)
    rows = [flat(torch.autograd.grad(s, inner, retain_graph=True), inner) for s in slope]
    divisor = torch.stack(rows).diagonal() + 5.0
    solution = torch.where(divisor > 0, v / divisor, 0.0)
    implicit = flat(torch.autograd.grad(slope @ solution, outer, allow_unused=True), outer)
    assert implicit.norm() > 1e-3 and torch.allclose(found, explicit - implicit, atol=1e-9)


def test_each_batch_draws_probes_of_its_own(tmp_path, monkeypatch):
    drawn, signs = [], Curvature.signs

    def recorded(curvature):
        drawn.append(signs(curvature))
        return drawn[-1]

    monkeypatch.setattr(Curvature, "signs", recorded)
    build(tmp_path, solver={"type": "diagonal", "damping": 5.0, "max_steps": 1}).train()
    assert len(drawn) > 1 and not torch.equal(drawn[0], drawn[1])


@pytest.mark.parametrize("through", ["relaxed", "soft"])
def test_candidates_without_a_probability(tmp_path, through):
    loss = {**CD, "energy_loss": {"type": "nce_ranking"}}
    message = f"trainer.through: '{through}' makes candidates whose log-probability"
    with pytest.raises(ConfigurationError, match=message):
        build(tmp_path, loss, through=through)
    trainer = build(tmp_path, CD, through=through)
    assert gradient_of(trainer, MicroBatch(next(iter(trainer.data_loader)))).isfinite().all()


@pytest.mark.parametrize(
    "sampler, name",
    [
        ("task_net_output", "TaskNetOutputSampler"),
        ({"type": "stack", "samplers": ["discrete", "gaussian_perturbation"]}, "GaussianPerturbation"),
    ],
)
def test_relaxed_draws_stand_for_draws_alone(tmp_path, sampler, name):
    message = f"trainer.through: 'relaxed' puts independent draws .* the sampler, {name}, finds others; take"
    with pytest.raises(ConfigurationError, match=message):
        build(tmp_path, {**CD, "sampler": sampler}, through="relaxed")


@pytest.mark.parametrize(
    "more, told",
    [
        (
            {"solver": {"type": "sherman_morrison"}},
            "trainer.solver.type: ShermanMorrison would see the examples of one worker",
        ),
        (
            {"num_gradient_accumulation_steps": 2},
            "trainer.num_gradient_accumulation_steps: with distributed all workers",
        ),
    ],
)
def test_what_workers_cannot_share(tmp_path, more, told):
    settings = runs.config(trainer__type="implicit_gradient", model__energy_loss={"type": "ranking"})
    settings["trainer"].update(more)

    def work(rank):
        with pytest.raises(ConfigurationError, match=told):
            runs.build_worker(settings, tmp_path, rank)

    runs.build(runs.config(), tmp_path)  # Makes the vocabulary.
    runs.on_workers(work, tmp_path)


# Its value and its gradient; what the trainer makes of them is in test_implicit_gradient_trainer.py.


def made(solver=None):
    """A surrogate loss, the model, and the inner and the outer parameters."""
    model = seal_model(energy_loss={"type": "contrastive_divergence"}).eval()
    theta = dict(model.task_net.named_parameters())
    psi = dict(model.loss_net.named_parameters())
    solver = solver or ConjugateGradient(damping=1.0, max_steps=5)
    return SurrogateLoss(model, Bilevel(solver)), model, theta, psi


def test_its_gradient_is_the_hypergradient():
    solver = ConjugateGradient(damping=1.0, max_steps=5)
    surrogate, model, theta, psi = made(solver)
    part = MicroBatch(srl_batch(FRAMES))
    loss, report = surrogate(part, theta, psi)

    def primary():
        state = model.task_state(**part.batch)
        attached = with_gradient(part.candidates, state.logits, model.output_space, state.mask, "straight_through")
        return model.loss_net_loss(state, attached)

    expected = hypergradient(lambda: model.joint_loss(part.batch), primary, theta, psi, solver)
    assert float(loss.detach()) == pytest.approx(expected.report.loss) and report.steps == expected.report.steps
    assert report.implicit_norm > 1e-3 * report.explicit_norm > 0
    (3 * loss).backward()
    for name, parameter in psi.items():
        assert torch.allclose(parameter.grad, 3 * expected.gradient[name], atol=1e-12), name
    assert all(parameter.grad is None for parameter in theta.values())


def test_the_state_is_given_up_before_the_system_is_solved(monkeypatch):
    """With it goes the graph of its pass."""
    states, alive = [], []

    class Watching(ConjugateGradient):
        def solve(self, curvature, rhs):
            alive.extend(state() is not None for state in states)
            return super().solve(curvature, rhs)

    surrogate, model, theta, psi = made(Watching(damping=1.0, max_steps=2))
    make = model.state_of_all_nets

    def recorded(**batch):
        state = make(**batch)
        states.append(weakref.ref(state))
        return state

    monkeypatch.setattr(model, "state_of_all_nets", recorded)
    surrogate(MicroBatch(srl_batch(FRAMES)), theta, psi)
    # Of the pass for the candidates, and of the one for the inner loss.
    assert alive == [False, False]


def test_a_batch_keeps_its_candidates_for_all_updates():
    surrogate, _, theta, psi = made()
    part = MicroBatch(srl_batch(FRAMES))
    surrogate(part, theta, psi)
    drawn = part.candidates
    surrogate(part, theta, psi)
    assert part.candidates is drawn


def test_a_batch_without_an_instance_has_no_system():
    surrogate, _, theta, psi = made()
    loss, report = surrogate(MicroBatch(srl_batch(FINDER_ROWS)), theta, psi)
    assert float(loss.detach()) == 0 and report is None


@pytest.mark.parametrize(
    "net, what", [("task_net", "task_net's output is no longer finite"), ("loss_net", "outer loss is nan")]
)
def test_what_is_not_finite_has_a_name(net, what):
    surrogate, model, theta, psi = made()
    with torch.no_grad():
        for parameter in getattr(model, net).parameters():
            parameter.fill_(float("nan"))
    with pytest.raises(NonFiniteValue) as error:
        surrogate(MicroBatch(srl_batch(FRAMES)), theta, psi)
    assert error.value.what == what
