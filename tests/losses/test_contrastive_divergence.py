import math

import pytest
import torch

from seal.losses import (
    Comparison,
    ContrastiveDivergenceLoss,
    MarginLoss,
    RankingLoss,
    RewardedContrastiveDivergenceLoss,
)
from seal.output_spaces import Candidates, RewardedCandidates
from seal.scores import L1Cost, OneMinusScore, SoftF1, TokenAccuracy
from tests.label_sets import all_sets, label_set, random_energies
from tests.losses.one_instance import Given, loss_and_gradient
from tests.spine import mask_of, tag_sequence

GOLD_ENERGY, ENERGY, COST = -1.0, [0.5, -0.2, 1.3], [0.4, 0.7, 0.25]


LOSS = ContrastiveDivergenceLoss(Given())


def test_a_worked_example():
    value, gradient = loss_and_gradient(LOSS, GOLD_ENERGY, ENERGY, COST)
    assert value == pytest.approx(0.8613881552, abs=1e-10)
    assert gradient == pytest.approx([0.57742492, -0.14066302, -0.38236174, -0.05440016], abs=1e-8)


def test_one_candidate():
    """A softplus, between the hinge and `log 2` above it."""
    value, _ = loss_and_gradient(LOSS, -1.0, [-0.8], [0.4])
    assert value == pytest.approx(0.7981388694, abs=1e-10)
    for gold_energy, energy, cost in [(-1, -0.8, 0.4), (2, -1, 0.9), (-3, 4, 0.1), (0, 0.5, 0.5)]:
        value, gradient = loss_and_gradient(LOSS, gold_energy, [energy], [cost])
        margin = cost + gold_energy - energy
        assert value == pytest.approx(math.log1p(math.exp(margin)))
        assert gradient == pytest.approx([1 / (1 + math.exp(-margin)), -1 / (1 + math.exp(-margin))])
        hinge, _ = loss_and_gradient(MarginLoss(Given()), gold_energy, [energy], [cost])
        assert hinge == pytest.approx(max(margin, 0)) and hinge <= value <= hinge + math.log(2) + 1e-12


def test_without_cost_it_is_ranking():
    found = loss_and_gradient(LOSS, GOLD_ENERGY, ENERGY, [0.0] * 3)
    expected = loss_and_gradient(RankingLoss(), GOLD_ENERGY, ENERGY, [0.0] * 3)
    assert found[0] == pytest.approx(expected[0]) and found[1] == pytest.approx(expected[1])


def test_bounded_below():
    for gold_energy in (-10.0, -100.0, -1e6):
        value, gradient = loss_and_gradient(LOSS, gold_energy, ENERGY, COST)
        assert 0 <= value < 1e-3 and max(map(abs, gradient)) < 1e-3
    value, gradient = loss_and_gradient(LOSS, 1e6, ENERGY, COST)
    assert math.isfinite(value) and gradient[0] == pytest.approx(1.0) and sum(gradient) == pytest.approx(0.0)


def test_costs_of_label_sets():
    """`1 - soft F1` unless told otherwise; a candidate's gradient is its weight times that of its cost."""
    space, gold = label_set(3), torch.tensor([[1, 0, 1]])
    outputs = torch.tensor([[[0.9, 0.2, 0.6], [1, 0, 1]]], dtype=torch.double, requires_grad=True)
    energy = torch.tensor([[0.3, -0.2]], dtype=torch.double, requires_grad=True)
    gold_energy = torch.tensor([-0.7], dtype=torch.double)
    for loss, cost, costs in (
        (ContrastiveDivergenceLoss(), OneMinusScore(SoftF1()), [1 - 0.8108108108, 0]),
        (ContrastiveDivergenceLoss(L1Cost()), L1Cost(), [0.7, 0]),
    ):
        value = loss(Comparison(gold_energy, energy, Candidates(outputs), gold, space))
        assert value.item() == pytest.approx(loss_and_gradient(LOSS, -0.7, energy[0].tolist(), costs)[0])
        gradients = torch.autograd.grad(value.sum(), [energy, outputs])
        (slope,) = torch.autograd.grad(cost(space, outputs, gold).sum(), outputs)
        # The gradient in an energy is minus the candidate's weight.
        assert torch.allclose(gradients[1], -gradients[0].unsqueeze(2) * slope) and slope.any()


def test_gradcheck():
    torch.manual_seed(0)
    space, gold = label_set(3), torch.tensor([[1, 0, 1], [0, 0, 0]])
    candidates = Candidates(torch.rand(2, 4, 3, dtype=torch.double))
    gold_energy = torch.randn(2, dtype=torch.double, requires_grad=True)
    energy = torch.randn(2, 4, dtype=torch.double, requires_grad=True)

    def loss(gold_energy, energy):
        return ContrastiveDivergenceLoss()(Comparison(gold_energy, energy, candidates, gold, space))

    assert torch.autograd.gradcheck(loss, (gold_energy, energy))


# By enumeration of all label sets.


@pytest.mark.parametrize("gold", [0, 77, 255])
def test_over_all_label_sets(gold):
    """Gold and every set once: `log(exp(-E(y)) + sum_y' exp(Delta(y', y) - E(y'))) + E(y)`, in Python."""
    sets, energies = all_sets(8), random_energies(8).requires_grad_(True)
    candidates = Candidates(sets.expand(2, -1, -1))
    comparison = Comparison(energies[:, gold], energies, candidates, sets[[gold] * 2], label_set(8))
    loss = ContrastiveDivergenceLoss(L1Cost())(comparison)
    (slope,) = torch.autograd.grad(loss.sum(), energies)
    for found, gradient, row in zip(loss.tolist(), slope.tolist(), energies.tolist()):
        errors = [bin(place ^ gold).count("1") for place in range(256)]
        weights = [math.exp(cost - energy) for cost, energy in zip(errors, row)]
        total = math.exp(-row[gold]) + sum(weights)
        assert found == pytest.approx(math.log(total) + row[gold])
        # The gradient of the energies is gold minus the cost-augmented distribution, in which gold stands twice.
        expected = [-weight / total for weight in weights]
        expected[gold] += 1 - math.exp(-row[gold]) / total
        assert gradient == pytest.approx(expected)


def test_without_cost_and_over_all_other_label_sets_it_is_the_likelihood():
    gold, energies = 77, random_energies(8)
    others = [place for place in range(256) if place != gold]
    candidates = Candidates(torch.zeros(2, 255, 1, dtype=torch.double))
    golds = torch.zeros(2, 1)
    loss = LOSS(Comparison(energies[:, gold], energies[:, others], candidates, golds, label_set(1)))
    assert torch.allclose(loss, -(-energies).log_softmax(dim=1)[:, gold])


def problem():
    torch.manual_seed(0)
    mask, gold = mask_of([4, 3, 2]), torch.randint(3, (3, 4))
    return {
        "gold_energy": torch.randn(3, dtype=torch.double),
        "energy": torch.randn(3, 5, dtype=torch.double),
        "gold": gold,
        "output_space": tag_sequence(3),
        "mask": mask,
    }


def candidates_of(target, labelled, gap, log_count=None):
    torch.manual_seed(1)
    return RewardedCandidates(
        torch.randint(3, (3, 5, 4)),
        log_count=log_count,
        target=target,
        labelled=torch.tensor(labelled),
        reward_gap=gap,
    )


def test_rows_with_gold_have_the_plain_loss():
    given = problem()
    candidates = candidates_of(given["gold"], [True] * 3, torch.zeros(3, 5), torch.rand(3, 5))
    plain = ContrastiveDivergenceLoss(OneMinusScore(TokenAccuracy()))(Comparison(candidates=candidates, **given))
    assert torch.equal(RewardedContrastiveDivergenceLoss()(Comparison(candidates=candidates, **given)), plain)
    chosen = RewardedContrastiveDivergenceLoss(L1Cost())(Comparison(candidates=candidates, **given))
    assert torch.equal(chosen, ContrastiveDivergenceLoss(L1Cost())(Comparison(candidates=candidates, **given)))
    assert not torch.isclose(chosen, plain).any()


def test_other_rows_have_the_reward_for_a_cost_and_ties_say_nothing():
    given = problem()
    gap = torch.tensor([[0.0] * 5, [0.1, 0.4, 0.0, 0.2, 0.3], [0.0] * 5])
    candidates = candidates_of(given["gold"], [True, False, False], gap)
    energy = given["energy"].requires_grad_()
    loss = RewardedContrastiveDivergenceLoss()(Comparison(candidates=candidates, **given))
    right = (candidates.outputs[0] == given["gold"][0]).float().mean(dim=1)
    for row, cost in ((0, 1 - right), (1, gap[1])):
        ranks = [-float(given["gold_energy"][row])] + (cost - energy[row]).tolist()
        assert float(loss[row].detach()) == pytest.approx(math.log(sum(map(math.exp, ranks))) - ranks[0], abs=1e-6)
    (gradient,) = torch.autograd.grad(loss.sum(), energy)
    assert loss[2] == 0 and not gradient[2].any() and gradient[:2].all()


def test_costs_of_rows_with_gold_have_gradients_and_rewards_have_none():
    given = problem()
    gap = torch.tensor([[0.0] * 5, [0.1] * 5, [0.2] * 5])
    candidates = candidates_of(given["gold"], [True, False, False], gap)
    relaxed = torch.nn.functional.one_hot(candidates.outputs, 3).double().requires_grad_()
    candidates.outputs = relaxed
    (gradient,) = torch.autograd.grad(
        RewardedContrastiveDivergenceLoss()(Comparison(candidates=candidates, **given)).sum(), relaxed
    )
    assert gradient[0].any() and not gradient[1:].any()
