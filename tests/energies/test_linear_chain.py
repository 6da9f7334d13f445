import pytest
import torch

from seal.energies import LinearChainEnergy
from tests.spine import mask_of, one_hot, tag_sequence

# An example with its values is in test_local.py.


def chain_of(num_tags, with_start):
    torch.manual_seed(0)
    energy = LinearChainEnergy(7, tag_sequence(num_tags), with_start).double()
    if with_start:
        torch.nn.init.normal_(energy.starts)
    return energy


@pytest.mark.parametrize("with_start", [False, True])
def test_every_sum_by_hand(with_start):
    energy, lengths = chain_of(3, with_start), [4, 1, 3]
    mask, outputs = mask_of(lengths), torch.randint(3, (3, 6, 4))
    discrete, relaxed = energy(None, outputs, mask), energy(None, one_hot(outputs, 3), mask)
    pairs = energy.transitions.tolist()
    for b, length in enumerate(lengths):
        for k in range(6):
            tags = outputs[b, k, :length].tolist()
            score = sum(pairs[before][after] for before, after in zip(tags, tags[1:]))
            score += energy.starts.tolist()[tags[0]] if with_start else 0
            assert discrete[b, k].item() == pytest.approx(-score)
            assert relaxed[b, k].item() == pytest.approx(-score)


@pytest.mark.parametrize("with_start", [False, True])
def test_relaxed_sum_by_hand(with_start):
    energy, lengths = chain_of(3, with_start), [4, 1, 2]
    # Padding is full of noise.
    outputs = torch.randn(3, 2, 4, 3, dtype=torch.double).softmax(-1)
    found = energy(None, outputs, mask_of(lengths))
    for b, length in enumerate(lengths):
        for k in range(2):
            y = outputs[b, k]
            score = sum(float(y[t - 1] @ energy.transitions.detach() @ y[t]) for t in range(1, length))
            score += float(y[0] @ energy.starts.detach()) if with_start else 0
            assert found[b, k].item() == pytest.approx(-score)
        alone = energy(None, outputs[b, None, :, :length])
        assert torch.allclose(alone[0], found[b])


def test_the_start_begins_at_zero():
    energy = LinearChainEnergy(7, tag_sequence(3), with_start=True)
    without = LinearChainEnergy(7, tag_sequence(3))
    with torch.no_grad():
        without.transitions.copy_(energy.transitions)
    outputs = torch.randint(3, (1, 4, 3))
    assert torch.equal(energy(None, outputs), without(None, outputs))
    assert len(list(without.parameters())) == 1
