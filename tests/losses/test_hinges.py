import pytest
import torch
from allennlp.common import Params

from seal.losses import Comparison, CompoundLoss, EnergyLoss, MarginLoss, PerceptronLoss
from seal.output_spaces import Candidates
from seal.scores import OneMinusScore, SoftF1
from tests.label_sets import all_sets, label_set, random_energies
from tests.losses.one_instance import Given, loss_and_gradient
from tests.spine import all_sequences, mask_of, one_hot, tag_sequence

MARGIN = MarginLoss(Given())


@pytest.mark.parametrize(
    "energy, cost, loss",
    [
        (-0.8, 0.4, 0.2),
        (-1.3, 0.4, 0.7),
        # .4 - .5 - 1 = -1.1, .7 + .2 - 1 = -.1 and .25 - 1.3 - 1 = -2.05: no hinge is open.
        (-0.5, 0.4, 0.0),
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
def test_margins_by_hand(energy, cost, loss):
    value, gradient = loss_and_gradient(MARGIN, -1.0, [energy], [cost])
    assert value == pytest.approx(loss) and gradient == ([1.0, -1.0] if loss else [0.0, 0.0])


def test_candidates_are_summed():
    value, gradient = loss_and_gradient(MARGIN, -1.0, [-0.8, -1.3, -0.5], [0.4] * 3)
    assert value == pytest.approx(0.9) and gradient == [2, -1, -1, 0]


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


@pytest.mark.parametrize("energy, loss, gradient", [(-1.3, 0.3, [1, -1]), (-0.8, 0.0, [0, 0])])
def test_printed_oracles_of_perceptron(energy, loss, gradient):
    value, found = loss_and_gradient(PerceptronLoss(), -1.0, [energy])
    assert value == pytest.approx(loss) and found == gradient


def test_candidates_are_summed_of_perceptron():
    value, gradient = loss_and_gradient(PerceptronLoss(), -1.0, [-1.3, -0.8, -2.0])
    assert value == pytest.approx(1.3) and gradient == [2, -1, 0, -1]


def test_it_is_the_margin_loss_without_a_cost():
    torch.manual_seed(0)
    for _ in range(20):
        gold_energy, *energy = torch.randn(4, dtype=torch.double).tolist()
        found = loss_and_gradient(PerceptronLoss(), gold_energy, energy)
        assert found == loss_and_gradient(MARGIN, gold_energy, energy)


def test_extreme_energies_are_finite():
    value, gradient = loss_and_gradient(PerceptronLoss(), 5e4, [-5e4])
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


SEPARATE = CompoundLoss(Given(), perceptron_weight=2.0, separate=True)


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
    value, found = loss_and_gradient(SEPARATE, -1.0, energy, [0.4, 7.0])
    assert value == pytest.approx(loss) and found == gradient


def test_one_network_enters_both_hinges():
    # [.4 + 1.2 - 1]_+ + .5 [1.2 - 1]_+
    loss = CompoundLoss(Given(), perceptron_weight=0.5)
    value, gradient = loss_and_gradient(loss, -1.0, [-1.2], [0.4])
    assert value == pytest.approx(0.6 + 0.5 * 0.2) and gradient == [1.5, -1.5]


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


def test_counts_of_two_candidates():
    """Each hinge has the count of its own candidate: 3 times .3 and 2 times .5."""
    value, gradient = loss_and_gradient(SEPARATE, -1.0, [-0.9, -1.5], [0.4, 7.0], [3, 2])
    assert value == pytest.approx(3 * 0.3 + 2 * 2 * 0.5) and gradient == pytest.approx([7, -3, -4])
