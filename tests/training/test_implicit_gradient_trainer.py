import copy
import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.training.micro_batches import MicroBatch
from seal.training.player import LOSS_NET, TASK_NET
from tests.multilabel import LOSS_NET as LOSS_NET_PARAMS
from tests.multilabel import TASK_NET as TASK_NET_PARAMS
from tests.multilabel import write_data
from tests.training import runs

CD = {
    "sampler": {"type": "discrete", "num_samples": 4},
    "energy_loss": {"type": "contrastive_divergence"},
}
SSVM = {
    "sampler": {"type": "task_net_output"},
    "energy_loss": {"type": "margin", "cost": {"type": "one_minus", "score": {"type": "soft_f1"}}},
}
DVN = {"sampler": {"type": "task_net_output"}, "energy_loss": {"type": "regression"}}
LOSSES = {"cd": CD, "ssvm": SSVM, "dvn": DVN}


def build(tmp_path, loss=CD, kind="implicit_gradient", epochs=1, **trainer):
    data = write_data(tmp_path)
    player = {"optimizer": {"type": "sgd", "lr": 0.1}}
    params = {
        "random_seed": 13,
        "numpy_seed": 13,
        "pytorch_seed": 13,
        "dataset_reader": {"type": "seal_multilabel", **data["reader"]},
        "train_data_path": data["path"],
        "validation_data_path": data["path"],
        "model": {
            "type": "seal_multilabel",
            "output_space": {"type": "label_set"},
            "task_net": TASK_NET_PARAMS,
            "loss_net": LOSS_NET_PARAMS,
            "task_loss": {"energy_weight": 0.5},
            **loss,
        },
        "data_loader": {"type": "tensors", "batch_size": 3},
        "trainer": {
            "type": kind, "num_epochs": epochs, "cuda_device": -1,
            "task_net": copy.deepcopy(player), "loss_net": copy.deepcopy(player), **trainer,
        },
    }  # fmt: skip
    return runs.build(json.loads(json.dumps(params)), tmp_path / "run")


def dense(trainer, part):
    """`explicit - J^T (H + damping)^-1 v` from dense matrices of second derivatives."""
    from seal.samplers import with_gradient

    model = trainer.model
    inner, outer = trainer._parameters_of(TASK_NET), trainer._parameters_of(LOSS_NET)
    theta, psi = list(inner.values()), list(outer.values())

    def flat(gradients, like):
        return torch.cat(
            [(torch.zeros_like(p) if g is None else g).reshape(-1) for g, p in zip(gradients, like)]
        )

    state = model.task_state(**part.batch)
    attached = with_gradient(part.candidates, state.logits, model.output_space)
    features = model.loss_net.encode(state.inputs, state.hidden)
    outputs = model.output_space.stack(state.gold.unsqueeze(1), attached.outputs)
    energy = model.loss_net(features, outputs)
    primary = model.energy_loss(energy[:, 0], energy[:, 1:], attached, state.gold, model.output_space).mean()
    explicit = flat(torch.autograd.grad(primary, psi, retain_graph=True, allow_unused=True), psi)
    v = flat(torch.autograd.grad(primary, theta, allow_unused=True), theta)
    state = model.task_state(**part.batch)
    energy = model.loss_net(model.loss_net.encode(state.inputs, state.hidden), model.output_space.relax(state.logits))
    auxiliary = (model.output_space.cross_entropy(state.logits, state.gold) + 0.5 * energy.squeeze(1)).mean()
    slope = flat(torch.autograd.grad(auxiliary, theta, create_graph=True), theta)
    rows = [torch.autograd.grad(s, theta + psi, retain_graph=True, allow_unused=True) for s in slope]
    hessian = torch.stack([flat(row[: len(theta)], theta) for row in rows])
    cross = torch.stack([flat(row[len(theta) :], psi) for row in rows])
    damped = hessian + trainer._solver.damping * torch.eye(len(hessian), dtype=hessian.dtype)
    return explicit, -cross.t() @ torch.linalg.solve(damped, v)


@pytest.mark.parametrize("products", ["autograd", "finite_differences"])
@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_the_loss_nets_gradient_is_the_hypergradient(tmp_path, loss, products):
    exact = {"type": "exact", "damping": 5.0}
    trainer = build(tmp_path, LOSSES[loss], solver=exact, products=products)
    model = trainer.model.double()
    batch = {name: tensor.double() for name, tensor in next(iter(trainer.data_loader)).items()}
    part = MicroBatch(batch)
    value = trainer._loss(LOSS_NET, part, one_pass=False)
    value.backward()
    found = torch.cat([p.grad.reshape(-1) for p in trainer._parameters_of(LOSS_NET).values()])
    explicit, implicit = dense(trainer, part)
    tolerance = 1e-9 if products == "autograd" else 1e-5
    assert torch.allclose(found, explicit + implicit, atol=tolerance)
    assert implicit.norm() > 100 * tolerance and explicit.norm() > 100 * tolerance
    metrics = model.get_metrics(reset=True)
    assert metrics["explicit_norm"] == pytest.approx(float(explicit.norm()), rel=1e-4)
    assert metrics["implicit_norm"] == pytest.approx(float(implicit.norm()), rel=1e-3)
    assert float(value.detach()) == pytest.approx(metrics["loss_net_loss"])
    # The task-net has no part in it.
    assert all(p.grad is None for p in trainer._parameters_of(TASK_NET).values())


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
    assert trainer._turns == [TASK_NET] * 3 + [LOSS_NET]


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


def test_accumulated_batches(tmp_path):
    trainer = build(tmp_path, epochs=2, num_gradient_accumulation_steps=2)
    before = weights(trainer)
    trainer.train()
    assert all(torch.isfinite(value).all() for value in weights(trainer).values())
    assert any(not torch.equal(value, before[name]) for name, value in weights(trainer).items())


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
        ({"through": "hard"}, "trainer.through: one of"),
        ({"products": "symbolic"}, "trainer.products: 'autograd' or 'finite_differences', not 'symbolic'"),
        ({"solver": {"type": "conjugate_gradients"}}, "did you mean \"conjugate_gradient\""),
        ({"solver": {"type": "neumann", "damping": -1}}, "solver.damping"),
        ({"implicitt": True}, 'config key "trainer.implicitt" is unknown to ImplicitGradientTrainer; did you mean'),
        ({"loss_net": {"steps": 0}}, "nothing trains the loss-net"),
        ({"task_net": {"steps": 0}}, "trains a task_net and a loss_net together"),
        ({"use_amp": True}, "trainer.use_amp: second derivatives need full precision"),
    ],
)
def test_wrong_settings(tmp_path, more, told):
    with pytest.raises(ConfigurationError, match=told):
        build(tmp_path, **more)
