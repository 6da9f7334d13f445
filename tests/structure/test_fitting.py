"""Learning joint scores: known minima, and both ways to the loss against each other."""

import dataclasses

import pytest
import torch

from seal.structure.energies import (
    KeyRoles,
    LabelPairs,
    LabelScores,
    Powerset,
    RoleCounts,
    RoleNgrams,
    RoleSets,
    RoleTrigrams,
    SetCount,
    SetSize,
    SpanContext,
    SpanCounts,
    TokenScores,
)
from seal.structure.fitting import BatchObjective, fit, objective_of
from seal.structure.joint_score import JointScore
from seal.structure.label_set_objective import LabelSetObjective
from seal.structure.label_sets import LabelSetCandidates, SetIndex, known_sets
from seal.structure.lbfgs import minimise
from seal.structure.linear_system import LinearSystem
from seal.structure.tag_sequences import TagCandidates, find_gold
from tests.structure.makers import SCHEME, TAGS, excluded_gold
from tests.structure.test_joint_score import Linear, outputs

KINDS = [RoleCounts, RoleNgrams, RoleTrigrams, RoleSets, KeyRoles, SpanContext, SpanCounts, TokenScores]


def frames(rows, candidates, tokens, seed, own=True):
    """Frames at random; gold competes in most, and some candidates are fillers. Of `own` each two have one input."""
    generator = torch.Generator().manual_seed(seed)
    tags = torch.randint(len(TAGS), (rows, candidates, tokens), generator=generator)
    mask = torch.arange(tokens) < torch.randint(1, tokens + 1, (rows, 1), generator=generator)
    place = torch.randint(-1, candidates - 1, (rows,), generator=generator)
    gold = find_gold(tags, tags[torch.arange(rows), place.clamp(min=0)], mask).masked_fill(place < 0, -1)
    log_prob = torch.randn(rows, candidates, generator=generator).sort(dim=1, descending=True).values
    log_prob[: rows // 2, -1] = -torch.inf
    keys = [("eat", "sleep", "go")[row % 3] for row in range(rows)]
    token_log_prob = -torch.rand(tags.shape, generator=generator) * mask.unsqueeze(1)
    words = [
        [["The", "cat", "9", "saw"][(row + place) % 4] for place in range(sum(of))]
        for row, of in enumerate(mask.tolist())
    ]
    places = [row % len(of) for row, of in enumerate(words)]
    found = TagCandidates(tags, log_prob, mask, SCHEME, gold, keys, None, token_log_prob, words, places)
    if own:
        golds = tags[torch.arange(rows), place.clamp(min=0)].unsqueeze(1)
        alone = dataclasses.replace(found, tags=golds, log_prob=torch.zeros(rows, 1), token_log_prob=None)
        found.excluded = excluded_gold(alone, [row // 2 for row in range(rows)])
    return found


def joint_of(kinds):
    """A joint score whose energies have counted."""
    joint = JointScore([kind(3) for kind in kinds])
    for energy in joint.energies:
        energy.prepare(frames(30, 1, 7, seed=9, own=False))
    return joint


@pytest.mark.parametrize(
    "kinds", [*([kind] for kind in KINDS), KINDS], ids=lambda kinds: "all" if len(kinds) > 1 else kinds[0].__name__
)
def test_the_loss_of_linear_energies_and_its_gradient_are_those_of_autograd(kinds):
    """Of each, and of all together."""
    parts = [frames(30, 5, 7, seed=0), frames(3, 4, 2, seed=1), frames(5, 6, 1, seed=2, own=False)]
    joint = joint_of(kinds)
    linear = objective_of(joint, parts)
    assert isinstance(linear, LinearSystem)
    theta = torch.randn(linear.size, generator=torch.Generator().manual_seed(3), dtype=torch.double)
    loss, gradient = linear.loss_and_gradient(theta)
    wanted, wanted_gradient = BatchObjective(joint.double(), parts).loss_and_gradient(theta)
    assert loss == pytest.approx(wanted, rel=1e-6)
    torch.testing.assert_close(gradient, wanted_gradient, rtol=1e-4, atol=1e-5)


def label_sets(rows, seed, own, sets, counts, log_prob=None):
    """Rows with sets of which some do not compete."""
    generator = torch.Generator().manual_seed(seed)
    gold = torch.randint(2, (rows, 4), generator=generator)
    of_sets = torch.randn(rows, len(sets), generator=generator).log_softmax(dim=1)
    of_sets[:, 1] = torch.nan
    logits = 3 * torch.randn(rows, 4, generator=generator)
    return LabelSetCandidates(logits, sets, counts, SetIndex(sets).of(gold), own, set_log_prob=of_sets)


SET_KINDS = [LabelScores, SetCount, SetSize, LabelPairs, Powerset]


@pytest.mark.parametrize("kinds", [*([kind] for kind in SET_KINDS), SET_KINDS], ids=lambda kinds: kinds[-1].__name__)
def test_the_loss_of_label_sets_and_its_gradient_are_those_of_autograd(kinds):
    sets, counts = known_sets(torch.randint(2, (14, 4), generator=torch.Generator().manual_seed(7)))
    own = torch.ones(30).index_fill(0, torch.arange(5), 2.0)
    parts = [label_sets(30, 0, own, sets, counts), label_sets(9, 1, 0, sets, counts), label_sets(5, 2, 1, sets, counts)]
    assert any((part.gold < 0).any() for part in parts)
    joint = JointScore([kind(4) for kind in kinds])
    quick, slow = LabelSetObjective(joint, parts), BatchObjective(joint, parts)
    assert quick.count == slow.count
    theta = torch.randn(quick.size, generator=torch.Generator().manual_seed(3))
    loss, gradient = quick.loss_and_gradient(theta)
    wanted, wanted_gradient = slow.loss_and_gradient(theta)
    assert loss == pytest.approx(wanted, rel=1e-5)
    torch.testing.assert_close(gradient, wanted_gradient, rtol=1e-4, atol=1e-4)


def test_the_minimum_of_a_quadratic_function():
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(30, 30, generator=generator, dtype=torch.double)
    matrix = root @ root.T + torch.eye(30, dtype=torch.double)
    wanted = torch.randn(30, generator=generator, dtype=torch.double)

    def function(theta):
        slope = matrix @ (theta - wanted)
        return float((theta - wanted) @ slope / 2), slope

    found = minimise(function, torch.zeros(30, dtype=torch.double), max_steps=200, tolerance=0.0)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-4)


def test_the_minimum_of_a_curved_valley():
    """Rosenbrock's function, whose minimum is 0 at 1, 1."""
    evaluations = []

    def function(theta):
        x, y = theta.tolist()
        evaluations.append((x, y))
        slope = torch.tensor([-400 * x * (y - x**2) - 2 * (1 - x), 200 * (y - x**2)], dtype=torch.double)
        return 100 * (y - x**2) ** 2 + (1 - x) ** 2, slope

    found = minimise(function, torch.tensor([-1.2, 1.0], dtype=torch.double), max_steps=200, tolerance=0.0)
    assert found.tolist() == pytest.approx([1, 1], abs=1e-4) and len(evaluations) < 100


def test_both_ways_learn_the_same():
    parts = [frames(60, 6, 5, seed=4), frames(60, 5, 6, seed=5)]
    learned = []
    for way in (LinearSystem, BatchObjective):
        joint = joint_of(KINDS)
        objective = way(joint, parts)
        loss = fit(joint, objective, l2=2.0, max_steps=300)
        learned.append((loss, objective.theta().float()))
    assert learned[0][0] == pytest.approx(learned[1][0], abs=1e-3)
    torch.testing.assert_close(learned[0][1], learned[1][1], rtol=0, atol=0.02)


def test_an_energy_that_is_not_linear_is_learned_by_passes():
    assert isinstance(objective_of(JointScore([Linear()]), [outputs()]), BatchObjective)


def test_without_gold_that_competes_nothing_is_learned():
    part = frames(4, 5, 6, seed=0)
    part.gold.fill_(-1)
    joint = JointScore([RoleCounts(3)])
    loss = fit(joint, objective_of(joint, [part]), l2=1.0)
    assert loss != loss and joint.scale.item() == 1.0 and not joint.energies[0].cost.any()


def test_learning_finds_the_scale_and_the_energy_that_gold_is_drawn_from():
    joint = JointScore([Linear()])
    parts = [outputs(rows=4000, seed=seed) for seed in range(3)]
    fit(joint, objective_of(joint, parts), l2=1.0)
    assert joint.scale.item() == pytest.approx(0.6, abs=0.05)
    assert joint.energies[0].weight.item() == pytest.approx(-1.5, abs=0.05)


def test_the_minimum_is_that_of_the_penalised_likelihood():
    joint, part, l2 = JointScore([Linear()]), outputs(rows=60), 7.0
    fit(joint, objective_of(joint, [part]), l2)
    loss = joint.loss(part) + l2 / 2 * joint.energies[0].weight.square()
    gradients = torch.autograd.grad(loss, [joint.scale, joint.energies[0].weight])
    assert max(float(gradient.abs()) for gradient in gradients) < 0.02


def test_candidates_that_are_not_there_give_finite_gradients():
    joint, part = JointScore([Linear()]), outputs(rows=30)
    part.log_prob[:, 3] = -torch.inf
    part.gold = part.gold.masked_fill(part.gold == 3, -1)
    fit(joint, objective_of(joint, [part]), l2=1.0)
    assert torch.isfinite(joint.scale) and torch.isfinite(joint.energies[0].weight)


def test_parameters_without_prior_are_those_of_the_likelihood():
    class Free(Linear):
        without_prior = ("weight",)

    joint, part = JointScore([Free(), Linear()]), outputs(rows=60)
    fit(joint, objective_of(joint, [part]), l2=50.0)
    weights = [energy.weight for energy in joint.energies]
    free, penalised = (weight.item() for weight in weights)
    by_free, by_penalised = (slope.item() for slope in torch.autograd.grad(joint.loss(part), weights))
    assert abs(by_free) < 0.02 and by_penalised == pytest.approx(-50 * penalised, abs=0.02)
    assert abs(free) > 0.5


def test_factors_that_a_large_penalty_left_at_0_are_found_under_a_smaller_one():
    """Two labels are in gold together or not at all, which their products alone can say."""
    sets = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 2)
    gold = torch.tensor([0, 3]).repeat(40)
    part = LabelSetCandidates(torch.zeros(80, 2), sets, torch.full((4,), 20.0), gold)
    joint = JointScore([LabelPairs(2, rank=2), LabelScores(2)])
    objective = objective_of(joint, [part])
    fit(joint, objective, l2=1e6)
    with torch.no_grad():
        joint.energies[0].vectors.zero_()
    stuck = fit(joint, objective, l2=1e6)
    assert stuck > 1.3
    assert fit(joint, objective, l2=0.1, restart=False) < 0.9
