import weakref
from dataclasses import replace

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients import ConjugateGradient, hypergradient
from seal.hypergradients.products import AutogradProducts, FiniteDifferenceProducts
from seal.losses import Comparison
from seal.samplers import with_gradient
from seal.training import NonFiniteLoss
from seal.two_player import LOSS_NET, TASK_NET, MicroBatch
from tests.multilabel import LOSS_NET as LOSS_NET_PARAMS
from tests.multilabel import TASK_NET as TASK_NET_PARAMS
from tests.multilabel import run_settings, write_data
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
PERTURBED = ["discrete", "gaussian_perturbation"]
SHARED_LOSS_NET = {name: value for name, value in LOSS_NET_PARAMS.items() if name != "encoder"}
LOSSES = {"cd": CD, "ssvm": SSVM, "dvn": DVN, "compound": COMPOUND, "margin_style": MARGIN_STYLE}


def build(tmp_path, *args, **kwargs):
    return runs.build(settings_of(tmp_path, *args, **kwargs), tmp_path / "run")


def settings_of(tmp_path, loss=CD, kind="implicit_gradient", epochs=1, **trainer):
    tmp_path.mkdir(exist_ok=True)
    player = {"optimizer": {"type": "sgd", "lr": 0.1}}
    nets = {"task_net": TASK_NET_PARAMS, "loss_net": LOSS_NET_PARAMS, "task_loss": {"energy_weight": 0.5}}
    players = {"task_net": player, "loss_net": player}
    return run_settings(
        write_data(tmp_path), {**nets, **loss}, {"batch_size": 3},
        type=kind, num_epochs=epochs, **{**players, **trainer},
    )  # fmt: skip


def theta_and_psi(trainer):
    return list(trainer.implicit.inner_parameters.values()), list(trainer.implicit.parameters_of(LOSS_NET).values())


def slope(loss, parameters, **more):
    """The loss's gradient by the parameters, flat; 0 by those that it does not depend on."""
    found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True, **more)
    return torch.cat([(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in zip(found, parameters)])


def parts_of(trainer, auxiliary, primary, solve=None):
    """
    The explicit part, and `- J^T q` from dense matrices of second derivatives: `q` is `solve(H, d primary / d theta)`,
    where `H` is without damping, or what the solver with its damping should find.
    """
    theta, psi = theta_and_psi(trainer)
    explicit, v = slope(primary, psi), slope(primary, theta)
    rows = torch.stack([slope(s, theta + psi) for s in slope(auxiliary, theta, create_graph=True)])
    hessian, cross = rows.split([len(v), len(explicit)], dim=1)
    if solve is None:
        solve = damped(trainer.implicit.settings.solver.damping)
    return explicit, -cross.t() @ solve(hessian, v)


def damped(damping):
    return lambda hessian, v: torch.linalg.solve(hessian + torch.as_tensor(damping) * torch.eye(len(v)).to(v), v)


def dense(trainer, part, through="straight_through"):
    """The same, with both losses written out."""
    model = trainer.model
    state = model.task_state(**part.batch)
    attached = with_gradient(part.candidates, state.logits, model.output_space, through=through)
    features = model.loss_net.encode(state.inputs, state.hidden)
    outputs = model.output_space.stack(state.gold.unsqueeze(1), attached.outputs)
    energy = model.loss_net(features, outputs)
    comparison = Comparison(energy[:, 0], energy[:, 1:], attached, state.gold, model.output_space)
    primary = model.energy_loss(comparison).mean()
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
    return parts_of(trainer, auxiliary, primary)


EXACT = {"type": "exact", "damping": 5.0}
PRODUCTS = {"autograd": AutogradProducts, "finite_differences": FiniteDifferenceProducts}


def in_double(batch):
    return {name: tensor.double() for name, tensor in batch.items()}


def first_part(trainer):
    return MicroBatch(next(iter(trainer.data_loader)))


def doubled(trainer):
    """The first batch of a trainer that computes in float64."""
    trainer.model.double()
    return MicroBatch(in_double(first_part(trainer).batch))


def loss_nets_gradient(trainer):
    return torch.cat([p.grad.reshape(-1) for p in trainer.implicit.parameters_of(LOSS_NET).values()])


def gradient_of(trainer, part):
    loss_of(trainer, LOSS_NET, part).backward()
    return loss_nets_gradient(trainer)


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
    part, model = doubled(trainer), trainer.model
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
    inner = slope(model.joint_loss(part.batch), theta_and_psi(trainer)[0]).norm()
    assert metrics["inner_gradient_norm"] == pytest.approx(float(inner), rel=1e-6) and inner > 1e-3
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
    part, model = doubled(trainer), trainer.model
    found = gradient_of(trainer, part)

    state = model.state_of_all_nets(**part.batch)
    outputs = torch.stack(outputs_of_all_nets(model, state), dim=1)
    assert torch.equal(outputs, part.candidates.outputs)
    primary = model.loss_net_loss(state, replace(part.candidates, outputs=outputs))
    explicit, implicit = parts_of(trainer, model.joint_loss(part.batch), primary)
    assert implicit.norm() > 1e-3 * explicit.norm()
    assert torch.allclose(found, explicit + implicit, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("sampler", ["gold", {"type": "gradient_based_inference", "start": "task_net"}])
def test_candidates_of_no_network_are_refused(tmp_path, sampler):
    trainer = build(tmp_path, {**DVN, "sampler": sampler})
    with pytest.raises(ConfigurationError, match="sampler"):
        loss_of(trainer, LOSS_NET, first_part(trainer))


def test_a_phase_of_the_loss_net_alone_has_no_implicit_part(tmp_path):
    """Nor has its frozen task-net dropout."""
    gradients = []
    for kind, more in (("implicit_gradient", {}), ("alternating", {"first": "task_net"})):
        loss = {**CD, "task_net": {**TASK_NET_PARAMS, "dropout": 0.5}}
        phases = [{"epochs": 1, "train": "loss_net"}, {}]
        trainer = build(tmp_path / kind, loss, kind, epochs=2, phases=phases, **more)
        trainer.phases.enter(0, inside=False)
        trainer.plan = trainer._plan()
        part = first_part(trainer)
        loss_of(trainer, LOSS_NET, part).backward()
        gradients.append(torch.cat([p.grad.reshape(-1) for p in trainer.model.loss_net_parameters()]))
        assert torch.equal(part.state.logits, trainer.model.eval().task_state(**part.batch).logits)
    assert torch.equal(*gradients)


@pytest.mark.parametrize("products", sorted(PRODUCTS))
def test_the_inner_parameters_may_be_the_last_layer_alone(tmp_path, products):
    trainer = build(tmp_path, solver=EXACT, products=products, inner_parameters="last_layer")
    part = doubled(trainer)
    found = gradient_of(trainer, part)
    explicit, implicit = dense(trainer, part)
    tolerance = 1e-9 if products == "autograd" else 1e-5
    assert torch.allclose(found, explicit + implicit, atol=tolerance)
    assert implicit.norm() > 100 * tolerance
    for chosen in ("last_layer", ["[.]_head[.]"], None):
        trainer.implicit.settings.inner_parameters = chosen
        del trainer.implicit.inner_parameters
        assert (list(trainer.implicit.inner_parameters) == ["task_net._head.weight"]) == (chosen is not None)
    assert not torch.allclose(dense(trainer, part)[1], implicit, atol=tolerance)


def test_what_lies_below_the_inner_parameters_is_not_differentiated(tmp_path):
    """Neither of the task-net's two passes is backpropagated through below the last layer, or keeps a graph there."""
    trainer = build(tmp_path, inner_parameters="last_layer")
    passed = []
    trainer.model.task_net.encoder.register_full_backward_pre_hook(lambda *_: passed.append(1))
    part = first_part(trainer)
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
        trainer = build(tmp_path / kind, kind=kind, epochs=3, **more)
        trainer.train()
        results.append(weights(trainer))
    assert runs.same(*results)
    implicit = build(tmp_path / "both", epochs=3)
    implicit.train()
    assert runs.differing(results[0], weights(implicit))


def test_accumulated_batches_give_the_mean_of_their_hypergradients(tmp_path):
    """Each batch has a system of its own, at the task-net after its update."""
    trainer = build(tmp_path, SSVM, solver=EXACT, num_gradient_accumulation_steps=2)
    model, group = trainer.model.double(), first_part(trainer).batch
    for name, batch in group.items():
        group[name] = in_double(batch)
    before = weights(trainer)
    trainer.training_loss(group).backward()
    assert runs.differing(weights(trainer), before)
    found, expected = loss_nets_gradient(trainer), []
    for batch in group.values():
        part = MicroBatch(batch, candidates=model.sample(model.state_of_all_nets(**batch)))
        expected.append(sum(dense(trainer, part)))
    assert len(expected) == 2 and (expected[0] - expected[1]).norm() > 1e-3
    assert torch.allclose(found, (expected[0] + expected[1]) / 2, atol=1e-9)


@pytest.mark.parametrize("through", ["straight_through", "soft", "none"])
def test_the_way_through_the_candidates(tmp_path, through):
    trainer = build(tmp_path, CD, solver=EXACT, through=through)
    part = doubled(trainer)
    found = gradient_of(trainer, part)
    implicit_norm = trainer.model.get_metrics()["implicit_norm"]
    if through == "none":
        assert implicit_norm == 0
        return
    explicit, implicit = dense(trainer, part, through)
    assert torch.allclose(found, explicit + implicit, atol=1e-9)
    assert implicit_norm == pytest.approx(float(implicit.norm())) and implicit_norm > 1e-4


def tagger(tmp_path, **more):
    """Of the SRL fixture: an LSTM, sequences of several lengths, and a second batch without a frame."""
    solver = {"type": "conjugate_gradient", "damping": 1.0, "max_steps": 3}
    implicit = {"trainer__type": "implicit_gradient", "trainer__solver": solver}
    loss = {"model__energy_loss": {"type": "contrastive_divergence"}}
    return runs.build(runs.config(**{**implicit, **loss, **more}), tmp_path / "run")


def test_the_gradient_of_tag_sequences(tmp_path):
    trainer = tagger(tmp_path, dropout=0.0, batch_size=8)
    model, implicit, part = trainer.model.double(), trainer.implicit, first_part(trainer)
    (3 * loss_of(trainer, LOSS_NET, part)).backward()
    psi = implicit.parameters_of(LOSS_NET)

    def primary():
        state = model.task_state(**part.batch)
        attached = with_gradient(part.candidates, state.logits, model.output_space, state.mask, "straight_through")
        return model.loss_net_loss(state, attached)

    solver = implicit.settings.solver
    assert not model.task_state(**part.batch).mask.all()
    expected = hypergradient(lambda: model.joint_loss(part.batch), primary, implicit.inner_parameters, psi, solver)
    assert expected.report.implicit_norm > 1e-3 * expected.report.explicit_norm > 0
    for name, parameter in psi.items():
        assert torch.allclose(parameter.grad, 3 * expected.gradient[name], atol=1e-12), name
    assert all(parameter.grad is None for parameter in implicit.inner_parameters.values())


def test_the_state_is_given_up_before_the_system_is_solved(tmp_path, monkeypatch):
    """With it goes the graph of its pass."""
    states, alive = [], []

    class Watching(ConjugateGradient):
        def solve(self, curvature, rhs):
            alive.extend(state() is not None for state in states)
            return super().solve(curvature, rhs)

    trainer = tagger(tmp_path)
    trainer.implicit.settings.solver = Watching(damping=1.0, max_steps=2)
    make = trainer.model.state_of_all_nets

    def recorded(**batch):
        state = make(**batch)
        states.append(weakref.ref(state))
        return state

    monkeypatch.setattr(trainer.model, "state_of_all_nets", recorded)
    loss_of(trainer, LOSS_NET, first_part(trainer))
    # Of the pass for the candidates, and of the one for the inner loss.
    assert alive == [False, False]


def test_a_batch_without_an_instance_has_no_system(tmp_path):
    trainer = tagger(tmp_path)
    _, finder_rows, *_ = trainer.data_loader
    loss = loss_of(trainer, LOSS_NET, MicroBatch(finder_rows))
    assert float(loss.detach()) == 0 and trainer.model.get_metrics(reset=True).keys().isdisjoint({"explicit_norm"})
    loss.backward()
    assert all(parameter.grad is None for parameter in trainer.implicit.parameters_of(LOSS_NET).values())


UNROLL = {"num_steps": 1, "step_size": 1.0}
RANKING = {**CD, "energy_loss": {"type": "nce_ranking"}}


@pytest.mark.parametrize(
    "more, named",
    [
        ({"through": "hard"}, "trainer.through"),
        ({"products": "symbolic"}, "trainer.products"),
        ({"solver": {"type": "conjugate_gradients"}}, "conjugate_gradient"),
        ({"solver": {"type": "neumann", "damping": -1}}, "solver.damping"),
        ({"solver": {"type": "sherman_morrison", "average": False}}, "trainer.solver.average"),
        ({"reuse_features": True, "first": "loss_net"}, "trainer.reuse_features"),
        ({"implicitt": True}, "trainer.implicitt"),
        ({"loss_net": {"steps": 0}}, "loss-net"),
        ({"task_net": {"steps": 0}}, "trainer.type"),
        ({"loss": {**CD, "task_loss": {"energy_weight": 0.0}}}, "task_loss"),
        ({"loss": {**CD, "task_loss": {"type": "through_draws"}}}, "task_loss"),
        ({"inner_parameters": "first_layer"}, "'first_layer'"),
        ({"inner_parameters": "last_layer", "no_grad": ["_head"]}, "'last_layer'"),
        ({"inner_parameters": []}, "trainer.inner_parameters"),
        ({"inner_parameters": ["(head"]}, "'(head'"),
        ({"inner_parameters": ["_head", "^loss_net"]}, "'^loss_net'"),
        ({"products": "finite_differences", "loss": {**CD, "task_loss": {"straight_through": True}}}, "task_loss"),
        (
            {"products": "finite_differences", "loss": {**SEPARATE, "cost_augmented_net": {"type": "stacked"}}},
            "model.cost_augmented_net",
        ),
        ({"products": "finite_differences", "loss": {**CD, "loss_net": SHARED_LOSS_NET}}, "model.loss_net"),
        ({"use_amp": True}, "trainer.use_amp"),
        ({"geometry": "adam"}, "trainer.geometry"),
        ({"geometry": "flat"}, "trainer.geometry"),
        ({"unroll": {**UNROLL, "num_steps": 0}}, "trainer.unroll.num_steps"),
        ({"unroll": {**UNROLL, "step_size": 0.0}}, "trainer.unroll.step_size"),
        ({"unroll": UNROLL, "solver": EXACT}, "trainer.solver"),
        ({"unroll": UNROLL, "warm_start": True}, "trainer.warm_start"),
        ({"loss": RANKING, "through": "relaxed"}, "trainer.through"),
        ({"loss": RANKING, "through": "soft"}, "trainer.through"),
        ({"loss": {**CD, "sampler": "task_net_output"}, "through": "relaxed"}, "TaskNetOutputSampler"),
        (
            {"loss": {**CD, "sampler": {"type": "stack", "samplers": PERTURBED}}, "through": "relaxed"},
            "GaussianPerturbation",
        ),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, more, named):
    assert named in runs.sentence(settings_of(tmp_path, **more), tmp_path / "run")


def test_one_pass_draws_the_candidates_and_carries_the_gradient(tmp_path):
    """And one each for the two losses' own: no product runs the net again."""
    trainer = build(tmp_path, task_net={"optimizer": {"type": "sgd", "lr": 0.1}})
    calls = []
    trainer.model.task_net.register_forward_hook(lambda *_: calls.append(1))
    part = first_part(trainer)
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
    found = gradient_of(trainer, part)
    explicit, implicit = dense(trainer, part)
    assert torch.allclose(found, explicit + implicit, atol=1e-9) and implicit.norm() > 1e-3
    count = sum(p.numel() for p in trainer.implicit.parameters_of(TASK_NET).values())
    # 3 rows in place of 9 columns, of 4 units.
    assert trainer.model.get_metrics()["solver_steps"] == count - 6 * 4


@pytest.mark.parametrize(
    "player, told",
    [(LOSS_NET, "outer loss is nan at batch 1 of epoch 0"), (TASK_NET, "task_net's .* at batch 1 of epoch 0")],
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


@pytest.mark.parametrize(
    "solver, told",
    [
        ({"type": "neumann", "divisor": 1e-3, "max_steps": 5}, "0.001"),
        ({"type": "neumann", "max_steps": 1}, "max_steps"),
    ],
)
def test_a_solver_in_trouble_is_told_once_and_training_goes_on(tmp_path, caplog, solver, told):
    trainer = build(tmp_path, epochs=4, solver={"damping": 1.0, **solver})
    trainer.train()
    messages = [r.message for r in caplog.records if "solver of the implicit gradient" in r.message]
    assert told in messages[0] and len(set(messages)) == len(messages) <= 5 < trainer._total_batches_completed
    assert all(torch.isfinite(value).all() for value in weights(trainer).values())


def test_steps_whose_solution_is_worse_than_none_have_no_implicit_part_and_are_counted(tmp_path, caplog):
    metrics = build(tmp_path / "worse", solver={"type": "identity", "divisor": 1e-3}).train()
    assert metrics["training_solver_residual"] > 1 and metrics["training_solver_left_out"] == 1
    assert metrics["training_implicit_norm"] == 0 and "training_products_disagreement" not in metrics
    assert any("the implicit part is left out" in record.message for record in caplog.records)
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
    trainer = build(folder, {**CD, "task_loss": {"energy_weight": 2.0}}, use_amp=use_amp, **LAST_LAYER)
    model, part = trainer.model, first_part(trainer)
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


def test_the_geometry_of_adam(tmp_path):
    trainer = build(tmp_path, SSVM, solver=EXACT, geometry="adam", task_net=ADAM)
    part, model = doubled(trainer), trainer.model
    trainer.optimizer.turn = TASK_NET
    for _ in range(2):
        trainer.optimizer.zero_grad()
        loss_of(trainer, TASK_NET, MicroBatch(part.batch)).backward()
        trainer.optimizer.step()
    trainer.optimizer.zero_grad()
    found = gradient_of(trainer, part)

    states = trainer.optimizer.players[TASK_NET].state
    roots = torch.cat([states[p]["exp_avg_sq"].sqrt().reshape(-1) for p in trainer.implicit.inner_parameters.values()])
    metric = (roots / roots.mean()).clamp(min=0.01)
    assert metric.max() > 2 and metric.min() < 0.5
    losses = model.joint_loss(part.batch), primary_of(model, part.batch)
    explicit, implicit = parts_of(trainer, *losses, damped(5.0 * metric))
    assert implicit.norm() > 1e-4 and torch.allclose(found, explicit + implicit, atol=1e-8)
    euclidean = parts_of(trainer, *losses)[1]
    assert (implicit - euclidean).norm() > 0.01 * implicit.norm()


def test_the_outer_loss_may_be_that_of_held_out_batches(tmp_path):
    """One for each update, in turn; the task loss stays that of the batch."""
    (tmp_path / "held_out").mkdir()
    loader = outer_loader(write_data(tmp_path / "held_out"))
    trainer = build(tmp_path, SSVM, solver=EXACT, outer_data_loader=loader)
    batch = doubled(trainer).batch
    kept = trainer.implicit.outer_batches = [in_double(one) for one in trainer.implicit.outer_batches]
    assert len(kept) > 1 and [len(one["labels"]) for one in kept[:2]] == [4, 1]
    results = []
    for completed in (0, 1, len(kept)):
        trainer._total_batches_completed = completed
        trainer.model.zero_grad()
        results.append(gradient_of(trainer, MicroBatch(batch)))
        primary = primary_of(trainer.model, kept[completed % len(kept)])
        explicit, implicit = parts_of(trainer, trainer.model.joint_loss(batch), primary)
        assert implicit.norm() > 1e-4 and torch.allclose(results[-1], explicit + implicit, atol=1e-8)
    assert torch.equal(results[0], results[2]) and not torch.allclose(results[0], results[1])


def test_an_unrolled_inner_loop(tmp_path):
    """Against one graph through three steps; the nets are where they were."""
    unroll = {"num_steps": 3, "step_size": 0.4}
    trainer = build(tmp_path, SSVM, unroll=unroll)
    batch, model, before = doubled(trainer).batch, trainer.model, weights(trainer)
    found = gradient_of(trainer, MicroBatch(batch))
    assert runs.same(weights(trainer), before)
    metrics = model.get_metrics(reset=True)
    assert metrics["implicit_norm"] > 1e-4 and "solver_residual" not in metrics

    names, (theta, psi) = list(trainer.implicit.inner_parameters), theta_and_psi(trainer)

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
        steps = torch.autograd.grad(at(point, lambda net: net.joint_loss(batch)), point, create_graph=True)
        point = [value - 0.4 * step for value, step in zip(point, steps)]
    expected = slope(at(point, lambda net: primary_of(net, batch)), psi)
    assert torch.allclose(found, expected, atol=1e-9)


def test_a_solve_starts_where_the_last_one_ended(tmp_path):
    trainer = build(tmp_path, SSVM, solver=STARTED, warm_start=True)
    batch, residuals = doubled(trainer).batch, []
    for _ in range(4):
        loss_of(trainer, LOSS_NET, MicroBatch(batch))
        residuals.append(trainer.model.get_metrics(reset=True)["solver_residual"])
    # The same system again and again, by two steps each time.
    assert residuals[0] > 1e-3 and all(later < 0.7 * earlier for earlier, later in zip(residuals, residuals[1:]))
    cold = build(tmp_path, SSVM, solver=STARTED)
    loss_of(cold, LOSS_NET, first_part(cold))
    assert cold.implicit.solution is None


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"solver": STARTED, "warm_start": True},
        {"solver": STARTED, "warm_start": True, "geometry": "adam", "task_net": ADAM},
    ],
    ids=["plain", "warm_start", "geometry"],
)
def test_a_killed_run_goes_on_to_the_same_result(tmp_path, settings):
    whole = build(tmp_path / "whole", SSVM, epochs=4, **settings)
    whole.train()
    build(tmp_path / "parts", SSVM, epochs=2, **settings).train()
    rest = build(tmp_path / "parts", SSVM, epochs=4, **settings)
    rest.train()
    assert runs.same(weights(whole), weights(rest))
    if settings:
        assert runs.same(whole.implicit.solution, rest.implicit.solution)


# What the trainer hands to solvers that need more than products, and what it refuses.


def test_sherman_morrison_sees_each_instance(tmp_path):
    """Against `damping I + mean of g_i g_i^T`, the `g_i` of instances one by one."""
    trainer, batch = wide(tmp_path, solver={"type": "sherman_morrison", "damping": 0.5, "measure_residual": False})
    model, part = trainer.model, MicroBatch(batch)
    found = gradient_of(trainer, part)
    ones = [{name: tensor[index : index + 1] for name, tensor in batch.items()} for index in range(3)]
    rows = torch.stack([slope(model.joint_loss(one), theta_and_psi(trainer)[0]) for one in ones])
    explicit, implicit = of_wide(trainer, part, lambda _, v: damped(0.5)(rows.t() @ rows / 3, v))
    assert implicit.norm() > 1e-3 and torch.allclose(found, explicit + implicit, atol=1e-9)


def test_a_diagonal_is_that_of_the_parameters_themselves(tmp_path):
    """Exact, so that the span of a wide batch would show."""
    trainer, batch = wide(tmp_path, solver={"type": "diagonal", "damping": 5.0, "max_steps": 128})
    part = MicroBatch(batch)
    found = gradient_of(trainer, part)

    def solve(hessian, v):
        divisor = hessian.diagonal() + 5.0
        return torch.where(divisor > 0, v / divisor, 0.0)

    explicit, implicit = of_wide(trainer, part, solve)
    assert implicit.norm() > 1e-3 and torch.allclose(found, explicit + implicit, atol=1e-9)


def of_wide(trainer, part, solve):
    model = trainer.model
    state = model.state_of_all_nets(**part.batch)
    primary = model.loss_net_loss(state, with_gradient(part.candidates, state.logits, model.output_space))
    return parts_of(trainer, model.joint_loss(part.batch), primary, solve)


@pytest.mark.parametrize("through", ["relaxed", "soft"])
def test_a_loss_without_probabilities_takes_such_candidates(tmp_path, through):
    trainer = build(tmp_path, CD, through=through)
    assert gradient_of(trainer, first_part(trainer)).isfinite().all()
