import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.losses import Comparison, CompoundLoss, EnergyLoss, MarginLoss, PerceptronLoss
from seal.output_spaces import Candidates
from seal.scores import Cost, OneMinusScore, SoftF1
from tests.label_sets import all_sets, label_set, random_energies
from tests.spine import all_sequences, mask_of, one_hot, tag_sequence


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
def test_printed_oracles_of_perceptron(energy, loss, gradient):
    value, found = perceptron(-1.0, [energy])
    assert value == pytest.approx(loss) and found == gradient


def test_candidates_are_summed_of_perceptron():
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


def compound(gold_energy, energy, costs, log_count=None, **settings):
    """One instance: its loss, and the gradient of every energy, gold's first."""
    energies = torch.tensor([gold_energy, *energy], dtype=torch.double, requires_grad=True)
    candidates = Candidates(torch.zeros(1, len(energy), 2, dtype=torch.long), log_count=log_count)
    gold = torch.zeros(1, 2, dtype=torch.long)
    loss = CompoundLoss(FixedCost(*costs), **settings)(
        Comparison(energies[None, 0], energies[None, 1:], candidates, gold, tag_sequence(2))
    )
    assert loss.shape == (1,)
    return loss.item(), torch.autograd.grad(loss.sum(), energies)[0].tolist()


@pytest.mark.parametrize(
    "energy, loss, gradient",
    [
        # Both hinges at work: .4 + .2 - 1 + ... by hand: [.4 + .2 - 1]_+ = 0 and [-1 + 1.5]_+ = .5.
        ((-0.2, -1.5), 0.0 + 2 * 0.5, [2, 0, -2]),
        # [.4 + .9 - 1]_+ = .3 and [-1 + .5]_+ = 0.
        ((-0.9, -0.5), 0.3, [1, -1, 0]),
        # .3 and .5.
        ((-0.9, -1.5), 0.3 + 2 * 0.5, [3, -1, -2]),
        ((-0.1, -0.5), 0.0, [0, 0, 0]),
    ],
)
def test_two_networks_by_hand(energy, loss, gradient):
    # The cost of the second plays no part: 7 would open every hinge.
    value, found = compound(-1.0, energy, (0.4,), perceptron_weight=2.0, separate=True)
    assert value == pytest.approx(loss) and found == gradient


def test_one_network_enters_both_hinges():
    # [.4 + 1.2 - 1]_+ + .5 [1.2 - 1]_+
    value, gradient = compound(-1.0, [-1.2], (0.4,), perceptron_weight=0.5)
    assert value == pytest.approx(0.6 + 0.5 * 0.2) and gradient == [1.5, -1.5]
    # A draw counts as often as it was made.
    log_count = torch.tensor([[3.0]], dtype=torch.double).log()
    value, gradient = compound(-1.0, [-1.2], (0.4,), log_count, perceptron_weight=0.5)
    assert value == pytest.approx(3 * 0.7) and gradient == pytest.approx([4.5, -4.5])


def test_with_exact_inference_it_is_eq_5():
    """`max_y [Delta - E + E_gold]_+ + lambda max_y [-E + E_gold]_+` over all outputs there are."""
    torch.manual_seed(0)
    space, gold = tag_sequence(3), torch.tensor([[0, 1, 2]])
    outputs, energy = all_sequences(3, 3), torch.randn(27, dtype=torch.double)
    index = (outputs == gold).all(dim=1).nonzero().item()
    cost = 2.0 * (outputs != gold).sum(dim=1)
    best = [(energy - cost).argmin().item(), energy.argmin().item()]
    chosen = Candidates(one_hot(outputs[best], 3)[None])
    loss = CompoundLoss(perceptron_weight=0.7, separate=True)(
        Comparison(energy[index][None], energy[best][None], chosen, gold, space)
    )
    wanted = (cost - energy + energy[index]).max() + 0.7 * (energy[index] - energy).max()
    assert loss.item() == pytest.approx(wanted.item())


@pytest.mark.parametrize("settings, word", [({"perceptron_weight": -1}, "perceptron_weight")])
def test_bad_settings(settings, word):
    with pytest.raises(ConfigurationError, match=word):
        EnergyLoss.from_params(Params({"type": "compound", **settings}))


def test_two_networks_make_two_candidates():
    with pytest.raises(ConfigurationError, match="two candidates.*gives 3"):
        compound(-1.0, [0.0, 0.0, 0.0], (0.4,), separate=True)


def test_counts_of_two_candidates():
    """Each hinge has the count of its own candidate: 3 times .3 and 2 times .5."""
    log_count = torch.tensor([[3.0, 2.0]], dtype=torch.double).log()
    value, gradient = compound(-1.0, (-0.9, -1.5), (0.4,), log_count, perceptron_weight=2.0, separate=True)
    assert value == pytest.approx(3 * 0.3 + 2 * 2 * 0.5) and gradient == pytest.approx([7, -3, -4])
