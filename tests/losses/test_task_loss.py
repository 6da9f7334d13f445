import pytest
import torch

from seal.energies import LinearChainEnergy, LocalEnergy
from seal.losses import NetTerms, TaskLoss
from tests.spine import mask_of, one_hot, tag_sequence


def test_values():
    # A worked example: E = 0.4027095910, BCE = 0.8393296907, lambda = 0.5, 1.
    energy, cross_entropy = torch.tensor([0.4027095910]).double(), torch.tensor([0.8393296907]).double()
    assert TaskLoss(0.5)(NetTerms(cross_entropy, energy)).item() == pytest.approx(1.0406844862)
    # Each instance by itself, each weight on its own term.
    energy, cross_entropy = torch.tensor([1.0, 3.0]), torch.tensor([0.5, 0.1])
    assert TaskLoss(0.25, 2.0)(NetTerms(cross_entropy, energy)).tolist() == pytest.approx([0.25 + 1.0, 0.75 + 0.2])
    assert TaskLoss(1.0, 0.0)(NetTerms(cross_entropy, energy)).tolist() == pytest.approx([1.0, 3.0])
    assert TaskLoss()(NetTerms(cross_entropy)).tolist() == pytest.approx([0.5, 0.1])


def test_without_energy_it_is_cross_entropy_to_the_bit():
    cross_entropy = torch.rand(3, requires_grad=True)
    energy = torch.full((3,), float("inf"), requires_grad=True)
    loss = TaskLoss(energy_weight=0.0)(NetTerms(cross_entropy, energy))
    assert torch.equal(loss, cross_entropy)
    assert torch.autograd.grad(loss.sum(), energy, allow_unused=True)[0] is None


def closed_form(logits, gold, unary, pairs, lengths, energy_weight, cross_entropy_weight):
    """
    `dL_F / dz` without autograd: the energy's gradient in `y_t`, `-(c_t + W^T y_{t-1} + W y_{t+1})`, through the
    softmax's `diag(p) - p p^T`, and `p - y` for the cross-entropy; over the batch's size.
    """
    gradient = torch.zeros_like(logits)
    for b, length in enumerate(lengths):
        p = torch.exp(logits[b] - logits[b].max(dim=-1, keepdim=True).values)
        p = p / p.sum(dim=-1, keepdim=True)
        for t in range(length):
            down = -unary[b, t]
            if t > 0:
                down = down - pairs.t() @ p[t - 1]
            if t < length - 1:
                down = down - pairs @ p[t + 1]
            gradient[b, t] = energy_weight * (torch.diag(p[t]) - torch.outer(p[t], p[t])) @ down
            gradient[b, t] += cross_entropy_weight * (p[t] - one_hot(gold[b, t], logits.shape[-1]))
    return gradient / len(lengths)


@pytest.mark.parametrize("weights", [(0.5, 1.0), (0.0, 1.0), (2.0, 0.0)])
def test_gradient_in_the_logits(weights):
    torch.manual_seed(0)
    space, lengths = tag_sequence(3), [4, 2, 1]
    mask, gold = mask_of(lengths), torch.randint(3, (3, 4))
    logits = torch.randn(3, 4, 3, dtype=torch.double, requires_grad=True)
    hidden = torch.randn(3, 4, 5, dtype=torch.double)
    local, chain = LocalEnergy(5, space).double(), LinearChainEnergy(5, space).double()

    relaxed = space.relax(logits, mask)
    energy = (local(local.condition(hidden), relaxed, mask) + chain(None, relaxed, mask)).squeeze(1)
    loss = TaskLoss(*weights)(NetTerms(space.cross_entropy(logits, gold, mask), energy)).mean()
    (found,) = torch.autograd.grad(loss, logits)

    unary = -(hidden @ local.label_embeddings.weight.t()).detach()
    expected = closed_form(logits.detach(), gold, unary, chain.transitions.detach(), lengths, *weights)
    assert expected.abs().max() > 0.05 and torch.allclose(found, expected)
