import math

import pytest
import torch

from seal.energies import LabelInteractionEnergy, LocalEnergy
from seal.losses import NetTerms, TaskLoss
from tests.label_sets import label_set

# SEAL, NeurIPS 2022, Eq. 1 and 2.
HIDDEN = torch.tensor([[1.0, -1.0]], dtype=torch.double)
B = torch.tensor([[0.5, 0.2], [-0.3, 0.4], [0.1, 0.6]], dtype=torch.double)
M = torch.tensor([[1, -1, 0.5], [0.2, 0.3, -0.4]], dtype=torch.double)
V = torch.tensor([[0.7, -0.5]], dtype=torch.double)
OUTPUT = torch.tensor([[[0.9, 0.2, 0.6]]], dtype=torch.double)
GOLD = torch.tensor([[1, 0, 1]])


def example_energies():
    space = label_set(3)
    local = LocalEnergy(2, space).double()
    interaction = LabelInteractionEnergy(2, space, hidden_dim=2).double()
    with torch.no_grad():
        local.label_embeddings.weight.copy_(B)
        interaction.patterns.weight.copy_(M)
        interaction.patterns.bias.zero_()
        interaction.weights.weight.copy_(V)
    return local, interaction


def test_values_of_the_example():
    local, interaction = example_energies()
    condition = local.condition(HIDDEN)
    assert local(condition, OUTPUT).item() == pytest.approx(-0.17, abs=1e-12)
    assert interaction(None, OUTPUT).item() == pytest.approx(0.5727095910, abs=1e-10)
    gold = GOLD.unsqueeze(1)
    assert local(condition, gold).item() == pytest.approx(-0.20, abs=1e-12)
    assert interaction(None, gold).item() == pytest.approx(0.8919198599, abs=1e-10)


def test_gradient_and_hessian_of_the_example():
    local, interaction = example_energies()
    condition = local.condition(HIDDEN)
    gradient = torch.autograd.functional.jacobian(lambda y: local(condition, y).sum(), OUTPUT)
    assert gradient.flatten().tolist() == pytest.approx([0.3, -0.7, -0.5])
    gradient = torch.autograd.functional.jacobian(lambda y: interaction(None, y).sum(), OUTPUT)
    assert gradient.flatten().tolist() == pytest.approx([0.46174101, -0.58674101, 0.35587050], abs=1e-8)
    hessian = torch.autograd.functional.hessian(lambda y: interaction(None, y).sum(), OUTPUT)
    expected = [
        [0.13262835, -0.14512835, 0.07881418],
        [-0.14512835, 0.12637835, -0.05381418],
        [0.07881418, -0.05381418, 0.01440709],
    ]
    assert torch.allclose(hessian.view(3, 3), torch.tensor(expected, dtype=torch.double), atol=1e-8)


def test_task_loss_of_the_example():
    """Both energies and the cross-entropy together, and their gradient in the task-net's logits."""
    (local, interaction), space = example_energies(), label_set(3)
    logits = OUTPUT[0].logit().requires_grad_(True)
    relaxed = space.relax(logits)
    energy = (local(local.condition(HIDDEN), relaxed) + interaction(None, relaxed)).squeeze(1)
    loss = TaskLoss(energy_weight=0.5)(NetTerms(space.cross_entropy(logits, GOLD), energy))
    assert loss.item() == pytest.approx(1.0406844862, abs=1e-10)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert gradient[0].tolist() == pytest.approx([-0.06572165, 0.09706072, -0.41729554], abs=1e-8)


@pytest.mark.parametrize("bias", [True, False])
def test_every_sum_by_hand(bias):
    torch.manual_seed(0)
    energy = LabelInteractionEnergy(7, label_set(4), hidden_dim=3, bias=bias)
    outputs = torch.rand(2, 5, 4)
    found = energy(energy.condition(torch.randn(2, 7)), outputs)
    assert found.shape == (2, 5)
    patterns, weights = energy.patterns.weight.tolist(), energy.weights.weight[0].tolist()
    shifts = energy.patterns.bias.tolist() if bias else [0.0] * 3
    for b in range(2):
        for k in range(5):
            labels = outputs[b, k].tolist()
            by_hand = 0.0
            for row, shift, weight in zip(patterns, shifts, weights):
                by_hand += weight * math.log1p(math.exp(sum(m * y for m, y in zip(row, labels)) + shift))
            assert found[b, k].item() == pytest.approx(by_hand, abs=1e-6)


def test_gradcheck():
    torch.manual_seed(0)
    energy = LabelInteractionEnergy(7, label_set(3), hidden_dim=2).double()
    outputs = torch.rand(1, 2, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: energy(None, y), outputs)
    assert torch.autograd.gradgradcheck(lambda y: energy(None, y), outputs)


def test_parameters():
    space = label_set(5)

    def count(**more):
        energy = LabelInteractionEnergy(7, space, hidden_dim=3, **more)
        return sum(p.numel() for p in energy.parameters())

    assert count() == 3 * (5 + 2) and count(bias=False) == 3 * (5 + 1)
