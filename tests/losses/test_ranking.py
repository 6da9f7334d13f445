import itertools
import math

import pytest
import torch

from seal.losses import Comparison, NceRankingLoss, RankingLoss
from seal.output_spaces import Candidates
from tests.spine import all_sequences, tag_sequence

GOLD_ENERGY, ENERGY = -1.0, [0.5, -0.2, 1.3]
GOLD_NOISE, NOISE = -1.2, [-0.9, -2.0, -1.6]


def rank(loss, gold_energy, energy, gold_noise=None, noise=None, log_count=None):
    """One instance: its loss, and the gradient of every energy, gold's first."""
    energies = torch.tensor([gold_energy, *energy], dtype=torch.double, requires_grad=True)
    candidates = Candidates(
        torch.zeros(1, len(energy), 2, dtype=torch.long),
        None if noise is None else torch.tensor([noise], dtype=torch.double),
        None if noise is None else torch.tensor([gold_noise], dtype=torch.double),
        None if log_count is None else torch.tensor([log_count], dtype=torch.double),
    )
    gold = torch.zeros(1, 2).long()
    comparison = Comparison(energies[None, 0], energies[None, 1:], candidates, gold, tag_sequence(2))
    value = loss(comparison)
    assert value.shape == (1,)
    return value.item(), torch.autograd.grad(value.sum(), energies)[0].tolist()


def test_a_worked_example():
    value, gradient = rank(NceRankingLoss(), GOLD_ENERGY, ENERGY, GOLD_NOISE, NOISE)
    assert value == pytest.approx(0.8393524537, abs=1e-10)
    assert gradient == pytest.approx([0.56800983, -0.07140749, -0.43199017, -0.06461217], abs=1e-8)
    value, gradient = rank(RankingLoss(), GOLD_ENERGY, ENERGY)
    assert value == pytest.approx(0.5725139439, abs=1e-10)
    assert gradient == pytest.approx([0.43589448, -0.12586896, -0.25346895, -0.05655657], abs=1e-8)


def test_plain_ranking_does_not_look_at_the_noise():
    assert rank(RankingLoss(), GOLD_ENERGY, ENERGY, GOLD_NOISE, NOISE) == rank(RankingLoss(), GOLD_ENERGY, ENERGY)


@pytest.mark.parametrize("samples", [1, 4])
def test_all_equal(samples):
    assert rank(RankingLoss(), 0.7, [0.7] * samples)[0] == pytest.approx(math.log(samples + 1))
    # With NCE it is the sum of energy and noise that has to be equal.
    noise = [-0.5 * k for k in range(samples)]
    value, _ = rank(NceRankingLoss(), 0.7, [0.7 - n for n in noise], 0.0, noise)
    assert value == pytest.approx(math.log(samples + 1))


@pytest.mark.parametrize("loss", [RankingLoss(), NceRankingLoss()])
def test_bounded_below(loss):
    """With gold left out of the sum, as printed, it would fall without end: -8.7 and -98.7 here."""
    for gold_energy in (-10.0, -100.0, -1e6):
        value, gradient = rank(loss, gold_energy, ENERGY, GOLD_NOISE, NOISE)
        assert 0 <= value < 1e-3 and max(map(abs, gradient)) < 1e-3
    value, gradient = rank(loss, 1e6, ENERGY, GOLD_NOISE, NOISE)
    assert math.isfinite(value) and gradient[0] == pytest.approx(1.0) and sum(gradient) == pytest.approx(0.0)


@pytest.mark.parametrize("loss", [RankingLoss(), NceRankingLoss()])
def test_a_count_stands_for_repeats(loss):
    counts = [3, 1, 2]

    def repeat(values):
        return [value for value, count in zip(values, counts) for _ in range(count)]

    merged = rank(loss, GOLD_ENERGY, ENERGY, GOLD_NOISE, NOISE, [math.log(c) for c in counts])
    repeated = rank(loss, GOLD_ENERGY, repeat(ENERGY), GOLD_NOISE, repeat(NOISE))
    assert merged[0] == pytest.approx(repeated[0])
    parts = iter(repeated[1][1:])
    expected = [repeated[1][0]] + [sum(next(parts) for _ in range(count)) for count in counts]
    assert merged[1] == pytest.approx(expected)


@pytest.mark.parametrize("loss", [RankingLoss(), NceRankingLoss()])
def test_fillers_are_silent(loss):
    value, gradient = rank(loss, GOLD_ENERGY, ENERGY, GOLD_NOISE, NOISE)
    log_count = [0.0] * 3 + [-math.inf] * 2
    filled = rank(loss, GOLD_ENERGY, ENERGY + [-50.0, 3.0], GOLD_NOISE, NOISE + [-1.0, -100.0], log_count)
    assert filled[0] == pytest.approx(value) and filled[1] == pytest.approx(gradient + [0, 0])


# Consistency, by enumeration of gold and of every set of draws.


def expected_gradient(loss, energy, truth, noise, samples):
    """
    The gradient of `E_{gold ~ truth, draws ~ noise} L` in the energies of all outputs: `(outputs,)`.
    """
    energy = energy.clone().requires_grad_(True)
    number = len(truth)
    cases = torch.tensor(list(itertools.product(range(number), repeat=samples + 1)))
    gold, drawn = cases[:, 0], cases[:, 1:]
    weight = truth[gold] * noise[drawn].prod(dim=1)
    assert weight.sum().item() == pytest.approx(1.0)
    outputs = all_sequences(2, 2)
    candidates = Candidates(outputs[drawn], noise.log()[drawn], noise.log()[gold])
    values = loss(Comparison(energy[gold], energy[drawn], candidates, outputs[gold], tag_sequence(2)))
    return torch.autograd.grad((weight * values).sum(), energy)[0]


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_what_the_optimum_is(samples):
    truth = torch.tensor([0.4, 0.1, 0.2, 0.3], dtype=torch.double)  # No product over tokens.
    # The product of token probabilities (0.7, 0.3) and (0.6, 0.4): what a task-net draws from.
    noise = torch.tensor([0.42, 0.28, 0.18, 0.12], dtype=torch.double)
    nce, plain = NceRankingLoss(), RankingLoss()
    zero = torch.zeros(4, dtype=torch.double)

    def size(loss, energy):
        return expected_gradient(loss, energy, truth, noise, samples).abs().max().item()

    # E = -log P + const, and nowhere else.
    assert size(nce, -truth.log()) < 1e-12
    assert size(nce, -truth.log() + 3.0) < 1e-12
    for energy in (zero, -noise.log(), truth.log(), -truth.log() + noise.log(), -truth.log() - noise.log()):
        assert size(nce, energy) > 1e-3
    # The gap between the truth and the sampler: E = -log P + log P_N + const.
    assert size(plain, -truth.log() + noise.log()) < 1e-12
    assert size(plain, -truth.log() + noise.log() - 2.0) < 1e-12
    for energy in (zero, -truth.log(), -noise.log(), -truth.log() - noise.log()):
        assert size(plain, energy) > 1e-3


def test_the_optimum_is_a_minimum():
    """Descent from zero energies ends at `P`, up to a constant."""
    truth = torch.tensor([0.4, 0.1, 0.2, 0.3], dtype=torch.double)
    noise = torch.tensor([0.42, 0.28, 0.18, 0.12], dtype=torch.double)
    energy = torch.zeros(4, dtype=torch.double)
    for _ in range(600):
        energy = energy - 3 * expected_gradient(NceRankingLoss(), energy, truth, noise, 2)
    assert torch.allclose((-energy).softmax(0), truth, atol=1e-6)
