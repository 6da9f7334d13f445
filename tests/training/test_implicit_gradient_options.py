"""Options of bi-level training: where a solve starts and in which geometry, held-out outer losses, unrolled steps."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.samplers import with_gradient
from seal.training.micro_batches import MicroBatch
from seal.training.players import LOSS_NET, TASK_NET
from tests.training.runs import loss_of
from tests.training.test_implicit_gradient_trainer import (
    EXACT,
    SSVM,
    build,
    flat,
    in_double,
    loss_nets_gradient,
    weights,
)

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
    candidates = model.draw(state)
    attached = with_gradient(candidates, state.logits, model.output_space)
    return model.loss_net_loss(state, attached)


def derivatives(trainer, batch):
    """The task loss's slope with its graph, and its dense second derivatives in `theta` and in `psi` and `theta`."""
    theta = list(trainer.inner_parameters.values())
    psi = list(trainer.parameters_of(LOSS_NET).values())
    auxiliary = trainer.model.joint_loss(batch)
    slope = flat(torch.autograd.grad(auxiliary, theta, create_graph=True, allow_unused=True), theta)
    rows = [torch.autograd.grad(s, theta + psi, retain_graph=True, allow_unused=True) for s in slope]
    hessian = torch.stack([flat(row[: len(theta)], theta) for row in rows])
    return hessian, torch.stack([flat(row[len(theta) :], psi) for row in rows])


def gradients_of(trainer, loss):
    """The loss's gradients by `psi` and by `theta`."""
    parameters = [list(trainer.parameters_of(LOSS_NET).values()), list(trainer.inner_parameters.values())]
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
    roots = torch.cat([states[p]["exp_avg_sq"].sqrt().reshape(-1) for p in trainer.inner_parameters.values()])
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
    kept = [in_double(one) for one in trainer._outer_batches]
    trainer._outer_batches = kept
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

    names, theta = list(trainer.inner_parameters), list(trainer.inner_parameters.values())
    psi = list(trainer.parameters_of(LOSS_NET).values())

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
    assert cold._surrogate_loss.solution is None


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
    for name, value in whole._surrogate_loss.solution.items():
        assert torch.equal(value, rest._surrogate_loss.solution[name]), name


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
