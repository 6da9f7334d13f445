from functools import partial

import pytest
import torch

from seal.energies import LinearChainEnergy, LocalEnergy
from tests.spine import mask_of, one_hot, tag_sequence

# Tu, Pang & Gimpel 2020, Eq. 7.
U = torch.tensor([[0.5, -0.2], [0.1, 0.3]], dtype=torch.double)
W = torch.tensor([[0.6, -0.4], [-0.1, 0.2]], dtype=torch.double)
HIDDEN = torch.tensor([[[1, 0], [0.5, -1], [-1, 2]]], dtype=torch.double)
OUTPUT = torch.tensor([[[[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]]], dtype=torch.double)


def example_energies():
    space = tag_sequence(2)
    local, chain = LocalEnergy(2, space).double(), LinearChainEnergy(2, space).double()
    with torch.no_grad():
        local.label_embeddings.weight.copy_(-U)  # This term is printed without the minus.
        chain.transitions.copy_(W)
    return local, chain


def test_a_worked_example():
    local, chain = example_energies()
    condition = local.condition(HIDDEN)
    assert local(condition, OUTPUT).item() == pytest.approx(-0.070, abs=1e-12)
    assert chain(None, OUTPUT).item() == pytest.approx(0.038, abs=1e-12)

    def energy(output):
        return (local(condition, output) + chain(None, output)).sum()

    assert energy(OUTPUT).item() == pytest.approx(-0.032, abs=1e-12)
    gradient = torch.autograd.functional.jacobian(energy, OUTPUT)[0, 0]
    assert gradient[1].tolist() == pytest.approx([-0.94, 0.42])
    hessian = torch.autograd.functional.hessian(energy, OUTPUT).view(3, 2, 3, 2)
    # Rows: the tag at t; columns: the tag at t + 1.
    for t in (0, 1):
        assert torch.allclose(hessian[t, :, t + 1], -W)
        assert torch.allclose(hessian[t + 1, :, t], -W.t())
    assert hessian[0, :, 2].abs().max() == 0 and hessian[1, :, 1].abs().max() == 0


def test_every_sum_by_hand():
    torch.manual_seed(0)
    space, lengths = tag_sequence(3), [4, 2]
    energy, mask = LocalEnergy(5, space).double(), mask_of(lengths)
    hidden, outputs = torch.randn(2, 4, 5, dtype=torch.double), torch.randint(3, (2, 6, 4))
    found = energy(energy.condition(hidden, mask), outputs, mask)
    relaxed = energy(energy.condition(hidden, mask), one_hot(outputs, 3), mask)
    weight = energy.label_embeddings.weight
    for b, length in enumerate(lengths):
        for k in range(6):
            by_hand = sum(float(weight[outputs[b, k, t]].detach() @ hidden[b, t]) for t in range(length))
            assert found[b, k].item() == pytest.approx(by_hand)
            assert relaxed[b, k].item() == pytest.approx(by_hand)


def test_parameters():
    # The authors' printed counts leave no room for a bias.
    assert sum(p.numel() for p in LocalEnergy(5, tag_sequence(3)).parameters()) == 15


@pytest.mark.parametrize("energy", [partial(LocalEnergy, 4), partial(LinearChainEnergy, 4, with_start=True)])
def test_gradients_of_the_two_forms_agree(energy):
    torch.manual_seed(1)
    energy, mask = energy(output_space=tag_sequence(3)).double(), mask_of([3, 1])
    hidden, outputs = torch.randn(2, 3, 4, dtype=torch.double), torch.randint(3, (2, 5, 3))
    weights, parameters = torch.randn(2, 5, dtype=torch.double), list(energy.parameters())
    discrete, relaxed = (
        torch.autograd.grad((energy(energy.condition(hidden), form, mask) * weights).sum(), parameters)
        for form in (outputs, one_hot(outputs, 3))
    )
    for one, other in zip(discrete, relaxed):
        assert one.abs().max() > 0 and torch.allclose(one, other)
