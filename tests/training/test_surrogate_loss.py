"""Its value and its gradient; what the trainer makes of them is in test_implicit_gradient_trainer.py."""

import weakref

import pytest
import torch

from seal.hypergradients import ConjugateGradient, NonFiniteValue, hypergradient
from seal.samplers import with_gradient
from seal.training.micro_batches import MicroBatch
from seal.training.surrogate_loss import SurrogateLoss
from tests.spine import FINDER_ROWS, FRAMES, seal_model, srl_batch


def made(solver=None):
    """A surrogate loss, the model, and the inner and the outer parameters."""
    model = seal_model(energy_loss={"type": "contrastive_divergence"}).eval()
    theta = dict(model.task_net.named_parameters())
    psi = dict(model.loss_net.named_parameters())
    solver = solver or ConjugateGradient(damping=1.0, max_steps=5)
    return SurrogateLoss(model, solver, "straight_through", "autograd"), model, theta, psi


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
