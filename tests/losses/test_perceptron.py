import math

import pytest
import torch
from allennlp.common import Params

from seal.losses import Comparison, EnergyLoss, MarginLoss, PerceptronLoss
from seal.output_spaces import Candidates
from seal.scores import Cost
from tests.label_sets import all_sets, label_set, random_energies
from tests.spine import tag_sequence


class NoCost(Cost):
    def __call__(self, output_space, outputs, gold, mask=None):
        return torch.zeros(outputs.shape[:2], dtype=torch.double)


def perceptron(gold_energy, energy, log_count=None, loss=None):
    """One instance: its loss, and the gradient of every energy, gold's first."""
    energies = torch.tensor([gold_energy, *energy], dtype=torch.double, requires_grad=True)
    candidates = Candidates(torch.zeros(1, len(energy), 2, dtype=torch.long), log_count=log_count)
    gold = torch.zeros(1, 2, dtype=torch.long)
    comparison = Comparison(energies[None, 0], energies[None, 1:], candidates, gold, tag_sequence(2))
    values = (loss or PerceptronLoss())(comparison)
    assert values.shape == (1,)
    return values.item(), torch.autograd.grad(values.sum(), energies)[0].tolist()


@pytest.mark.parametrize("energy, loss, gradient", [(-1.3, 0.3, [1, -1]), (-0.8, 0.0, [0, 0])])
def test_printed_oracles(energy, loss, gradient):
    value, found = perceptron(-1.0, [energy])
    assert value == pytest.approx(loss) and found == gradient


def test_candidates_are_summed():
    value, gradient = perceptron(-1.0, [-1.3, -0.8, -2.0])
    assert value == pytest.approx(1.3) and gradient == [2, -1, 0, -1]


def test_it_is_the_margin_loss_without_a_cost():
    torch.manual_seed(0)
    for _ in range(20):
        gold_energy, *energy = torch.randn(4, dtype=torch.double).tolist()
        assert perceptron(gold_energy, energy) == perceptron(gold_energy, energy, loss=MarginLoss(NoCost()))


def test_a_count_stands_for_repeats_and_fillers_are_silent():
    log_count = torch.tensor([[3.0, 1.0, 0.0]], dtype=torch.double).log()
    merged = perceptron(-1.0, [-1.3, -1.1, -9.0], log_count=log_count)
    repeated = perceptron(-1.0, [-1.3] * 3 + [-1.1])
    assert merged[0] == pytest.approx(repeated[0]) == pytest.approx(1.0)
    assert merged[1] == pytest.approx([4, -3, -1, 0])
    assert perceptron(-1.0, [-9.0], log_count=torch.tensor([[-math.inf]]))[0] == 0


def test_extreme_energies_are_finite():
    value, gradient = perceptron(5e4, [-5e4])
    assert value == 1e5 and gradient == [1, -1]


def test_instances_are_apart():
    gold_energy, energy = torch.tensor([0.0, 1.0]), torch.tensor([[-1.0], [0.5]])
    candidates = Candidates(torch.zeros(2, 1, 3, dtype=torch.long))
    loss = EnergyLoss.from_params(Params({"type": "perceptron"}))
    values = loss(Comparison(gold_energy, energy, candidates, torch.zeros(2, 3, dtype=torch.long), tag_sequence(2)))
    assert values.tolist() == [1.0, 0.5]


# By enumeration of all label sets.


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_minimiser_has_the_perceptrons_loss(seed):
    """`E(y) - min_y' E(y')`, which is 0 for the minimiser alone; and each hinge over all sets, in Python."""
    sets, energies = all_sets(8), random_energies(8, seed)
    best = energies.argmin(dim=1)
    for gold in [*best.tolist(), *range(0, 256, 15)]:
        golds = sets[[gold] * 2]
        arguments = energies[:, gold], energies.gather(1, best.unsqueeze(1))
        loss = PerceptronLoss()(Comparison(*arguments, Candidates(sets[best].unsqueeze(1)), golds, label_set(8)))
        assert torch.allclose(loss, energies[:, gold] - energies.amin(dim=1))
        assert ((loss == 0) == (best == gold)).all()
        comparison = Comparison(energies[:, gold], energies, Candidates(sets.expand(2, -1, -1)), golds, label_set(8))
        every = PerceptronLoss()(comparison)
        for found, row in zip(every.tolist(), energies.tolist()):
            assert found == pytest.approx(sum(max(0.0, row[gold] - energy) for energy in row))
