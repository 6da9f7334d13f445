"""What the trainer hands to solvers that need more than products, and what it refuses."""

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients import Curvature
from seal.samplers import with_gradient
from seal.training.micro_batches import MicroBatch
from seal.training.players import LOSS_NET, TASK_NET
from tests.training import runs
from tests.training.runs import loss_of
from tests.training.test_implicit_gradient_trainer import CD, build, wide


def gradient_of(trainer, part):
    loss_of(trainer, LOSS_NET, part).backward()
    return torch.cat([p.grad.reshape(-1) for p in trainer.parameters_of(LOSS_NET).values()])


def flat(gradients, like):
    return torch.cat([(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in zip(gradients, like)])


def test_sherman_morrison_sees_each_instance(tmp_path):
    """Against `damping I + mean of g_i g_i^T`, the `g_i` of instances one by one."""
    trainer, batch = wide(tmp_path, solver={"type": "sherman_morrison", "damping": 0.5, "measure_residual": False})
    model, part = trainer.model, MicroBatch(batch)
    found = gradient_of(trainer, part)
    inner, outer = (list(trainer.parameters_of(player).values()) for player in (TASK_NET, LOSS_NET))
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
    inner, outer = (list(trainer.parameters_of(player).values()) for player in (TASK_NET, LOSS_NET))
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
    message = f"trainer.through: 'relaxed' puts independent draws .* model.sampler, {name}, finds others; take"
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
