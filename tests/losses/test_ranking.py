import itertools
import math

import pytest
import torch

from seal.losses import Comparison, NceRankingLoss, RankingLoss
from seal.output_spaces import Candidates
from tests.label_sets import all_sets, label_set
from tests.losses.one_instance import loss_and_gradient
from tests.spine import tag_sequence

GOLD_ENERGY, ENERGY = -1.0, [0.5, -0.2, 1.3]
GOLD_NOISE, NOISE = -1.2, [-0.9, -2.0, -1.6]


def rank(loss, gold_energy, energy, gold_noise=None, noise=None):
    return loss_and_gradient(loss, gold_energy, energy, noise=noise, gold_noise=gold_noise)


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
    outputs = torch.arange(number).unsqueeze(1)
    candidates = Candidates(outputs[drawn], noise.log()[drawn], noise.log()[gold])
    values = loss(Comparison(energy[gold], energy[drawn], candidates, outputs[gold], tag_sequence(number)))
    return torch.autograd.grad((weight * values).sum(), energy)[0]


# No product over tokens; and what a task-net draws from, the product of token probabilities (.7, .3) and (.6, .4).
TRUTH = torch.tensor([0.4, 0.1, 0.2, 0.3], dtype=torch.double)
NOISE_OF_TAGS = torch.tensor([0.42, 0.28, 0.18, 0.12], dtype=torch.double)


def of_label_sets(num_labels):
    """A distribution that is no product over labels, and the task-net's, of random logits."""
    torch.manual_seed(num_labels)
    truth = torch.randn(2**num_labels, dtype=torch.double).softmax(0)
    logits = torch.randn(1, num_labels, dtype=torch.double)
    return truth, label_set(num_labels).log_prob(logits, all_sets(num_labels).unsqueeze(0))[0].exp()


@pytest.mark.parametrize(
    "truth, noise, samples",
    [
        *((TRUTH, NOISE_OF_TAGS, samples) for samples in (1, 2, 3)),
        *((*of_label_sets(labels), samples) for labels, samples in [(2, 1), (2, 3), (3, 2), (5, 1), (8, 1)]),
    ],
)
def test_what_the_optimum_is(truth, noise, samples):
    nce, plain = NceRankingLoss(), RankingLoss()
    zero = torch.zeros_like(truth)

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
    energy = torch.zeros(4, dtype=torch.double)
    for _ in range(600):
        energy = energy - 3 * expected_gradient(NceRankingLoss(), energy, TRUTH, NOISE_OF_TAGS, 2)
    assert torch.allclose((-energy).softmax(0), TRUTH, atol=1e-6)
