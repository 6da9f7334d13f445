import math

import pytest
import torch

from seal.losses import EnergyLoss, MarginLoss
from seal.output_spaces import Candidates
from seal.scores import Cost, OneMinusScore, SoftF1
from tests.spine import mask_of, one_hot, tag_sequence


class FixedCost(Cost):
    def __init__(self, *values):
        self.values = torch.tensor([values], dtype=torch.double)

    def __call__(self, output_space, outputs, gold, mask=None):
        return self.values


def margin(gold_energy, energy, *costs, log_count=None):
    """One instance: its loss, and the gradient of every energy, gold's first."""
    energies = torch.tensor([gold_energy, *energy], dtype=torch.double, requires_grad=True)
    outputs = torch.zeros(1, len(energy), 2, dtype=torch.long)
    candidates = Candidates(outputs, log_count=log_count)
    gold = torch.zeros(1, 2, dtype=torch.long)
    loss = MarginLoss(FixedCost(*costs))(energies[None, 0], energies[None, 1:], candidates, gold, tag_sequence(2))
    assert loss.shape == (1,)
    return loss.item(), torch.autograd.grad(loss.sum(), energies)[0].tolist()


@pytest.mark.parametrize(
    "energy, loss, gradient", [(-0.8, 0.2, [1, -1]), (-1.3, 0.7, [1, -1]), (-0.5, 0.0, [0, 0])]
)
def test_printed_oracles(energy, loss, gradient):
    value, found = margin(-1.0, [energy], 0.4)
    assert value == pytest.approx(loss) and found == gradient


def test_a_worked_example():
    for energy, cost in zip((0.5, -0.2, 1.3), (0.4, 0.7, 0.25)):
        assert margin(-1.0, [energy], cost) == (0.0, [0.0, 0.0])


def test_candidates_are_summed():
    value, gradient = margin(-1.0, [-0.8, -1.3, -0.5], 0.4, 0.4, 0.4)
    assert value == pytest.approx(0.9) and gradient == [2, -1, -1, 0]


def test_a_count_stands_for_repeats():
    merged = margin(-1.0, [-0.8, -1.3, -9.0], 0.4, 0.4, 0.4, log_count=torch.tensor([[3.0, 1.0, 0.0]]).log())
    repeated = margin(-1.0, [-0.8] * 3 + [-1.3], *[0.4] * 4)
    assert merged[0] == pytest.approx(repeated[0])
    assert merged[1] == pytest.approx([4, -3, -1, 0])
    assert repeated[1] == pytest.approx([4, -1, -1, -1, -1])


def test_the_default_cost_is_l1():
    space, mask, gold = tag_sequence(3), mask_of([3, 1]), torch.tensor([[0, 1, 2], [2, 0, 0]])
    outputs = torch.tensor([[[0, 1, 0]], [[1, 2, 2]]])
    energy, gold_energy = torch.tensor([[0.5], [0.25]]), torch.zeros(2)
    loss = EnergyLoss.by_name("margin")()
    for form in (outputs, one_hot(outputs, 3)):
        values = loss(gold_energy, energy, Candidates(form), gold, space, mask)
        assert values.tolist() == pytest.approx([2 - 0.5, 2 - 0.25])
    halved = MarginLoss(OneMinusScore(SoftF1()))
    values = halved(gold_energy, energy, Candidates(outputs), gold, space, mask)
    assert values.tolist() == pytest.approx([0.0, 0.75])


def test_fillers_are_silent():
    log_count = torch.tensor([[0.0, -math.inf]])
    value, gradient = margin(-1.0, [-0.8, -5.0], 0.4, 0.4, log_count=log_count)
    assert value == pytest.approx(0.2) and gradient == [1, -1, 0]
