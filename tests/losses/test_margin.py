import math

import pytest
import torch

from seal.losses import Comparison, EnergyLoss, MarginLoss
from seal.output_spaces import Candidates
from seal.scores import Cost, OneMinusScore, SoftF1
from tests.label_sets import all_sets, label_set, random_energies
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
    comparison = Comparison(energies[None, 0], energies[None, 1:], candidates, gold, tag_sequence(2))
    loss = MarginLoss(FixedCost(*costs))(comparison)
    assert loss.shape == (1,)
    return loss.item(), torch.autograd.grad(loss.sum(), energies)[0].tolist()


@pytest.mark.parametrize("energy, loss, gradient", [(-0.8, 0.2, [1, -1]), (-1.3, 0.7, [1, -1]), (-0.5, 0.0, [0, 0])])
def test_printed_oracles(energy, loss, gradient):
    value, found = margin(-1.0, [energy], 0.4)
    assert value == pytest.approx(loss) and found == gradient


@pytest.mark.parametrize(
    "energy, cost, loss",
    [
        # .4 - .5 - 1 = -1.1, .7 + .2 - 1 = -.1 and .25 - 1.3 - 1 = -2.05: no hinge is open.
        (0.5, 0.4, 0.0),
        (-0.2, 0.7, 0.0),
        (1.3, 0.25, 0.0),
        # .7 + .9 - 1
        (-0.9, 0.7, 0.6),
        # .25 + 1.3 - 1
        (-1.3, 0.25, 0.55),
        # 1.2 - .1 - 1: the candidate's energy is above 0.
        (0.1, 1.2, 0.1),
    ],
)
def test_a_worked_example(energy, cost, loss):
    value, gradient = margin(-1.0, [energy], cost)
    assert value == pytest.approx(loss) and gradient == ([1.0, -1.0] if loss else [0.0, 0.0])


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
        values = loss(Comparison(gold_energy, energy, Candidates(form), gold, space, mask))
        assert values.tolist() == pytest.approx([2 - 0.5, 2 - 0.25])
    halved = MarginLoss(OneMinusScore(SoftF1()))
    values = halved(Comparison(gold_energy, energy, Candidates(outputs), gold, space, mask))
    assert values.tolist() == pytest.approx([0.0, 0.75])


def test_fillers_are_silent():
    log_count = torch.tensor([[0.0, -math.inf]])
    value, gradient = margin(-1.0, [-0.8, -5.0], 0.4, 0.4, log_count=log_count)
    assert value == pytest.approx(0.2) and gradient == [1, -1, 0]


# By enumeration of all label sets.


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_cost_augmented_output_has_the_structured_hinge(seed):
    """`max_y' [Delta(y', y) - E(y')] + E(y)`, at least 0 as gold is among the `y'`, for many golds."""
    sets, energies = all_sets(8), random_energies(8, seed)
    for gold in range(0, 256, 15):
        errors = (sets != sets[gold]).sum(dim=1)
        value = errors - energies
        worst = value.argmax(dim=1)
        expected = value.amax(dim=1) + energies[:, gold]
        arguments = energies[:, gold], energies.gather(1, worst.unsqueeze(1))
        candidates = Candidates(sets[worst].unsqueeze(1))
        loss = MarginLoss()(Comparison(*arguments, candidates, sets[gold].expand(2, -1), label_set(8)))
        assert torch.allclose(loss, expected) and (loss >= 0).all()
        # No other candidate has a larger hinge.
        alone, golds = Candidates(sets.unsqueeze(1)), sets[gold].expand(256, -1)
        for row, largest in zip(energies, loss.tolist()):
            hinges = MarginLoss()(Comparison(row[gold].expand(256), row.unsqueeze(1), alone, golds, label_set(8)))
            assert hinges.max().item() == pytest.approx(largest)


def test_the_hinge_over_all_label_sets():
    """Each candidate's own hinge, in Python."""
    sets, energies = all_sets(8), random_energies(8)
    gold = 77
    candidates, golds = Candidates(sets.expand(2, -1, -1)), sets[[gold] * 2]
    comparison = Comparison(energies[:, gold], energies, candidates, golds, label_set(8))
    loss = MarginLoss()(comparison)
    for found, row in zip(loss.tolist(), energies.tolist()):
        errors = [bin(place ^ gold).count("1") for place in range(256)]
        hinges = [max(0.0, cost - energy + row[gold]) for cost, energy in zip(errors, row)]
        assert found == pytest.approx(sum(hinges)) and 0 < hinges.count(0.0) < 256
