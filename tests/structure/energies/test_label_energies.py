"""The energies of label sets against their formulas, a set at a time."""

import dataclasses
import math

import pytest
import torch

from seal.registry import ConfigurationError
from seal.structure.energies import LabelPairs, LabelScores, Powerset, SetCount, SetSize
from seal.structure.label_sets import ClassifierScores, LabelSetCandidates, LikelySets, SetIndex, known_sets
from tests.structure.makers import filled

GOLD = torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1]])


@pytest.fixture
def candidates():
    torch.manual_seed(0)
    return LabelSetCandidates(torch.randn(3, 4), *known_sets(GOLD))


def values(energy, candidates):
    return energy(candidates).expand(len(candidates.logits), len(candidates.sets))


@pytest.mark.parametrize("kind", [LabelScores, SetCount, SetSize, LabelPairs])
def test_every_energy_is_0_at_first(kind, candidates):
    assert not values(kind(4), candidates).any()


def test_powerset(candidates):
    """Of each set its own probability, whatever the order, and one parameter for those that are no class."""
    classes = candidates.sets[[2, 0, 3]]
    log_prob = torch.randn(3, 3).log_softmax(dim=1)
    log_prob[1, 0] = torch.nan
    scores = ClassifierScores(candidates.logits, classes, log_prob)
    candidates.set_log_prob = scores.of_sets(candidates.sets)
    energy = filled(Powerset(4))
    weight, no_class = float(energy.weight.detach()), float(energy.no_class.detach())
    assert len(candidates.sets) == 4
    for row in range(3):
        of_place = {place: float(log_prob[row, number]) for number, place in enumerate([2, 0, 3])}
        wanted = [-weight * of_place[place] if place in of_place else -no_class for place in range(4)]
        if row == 1:
            wanted[2] = -no_class
        assert values(energy, candidates)[row].tolist() == pytest.approx(wanted)
    assert torch.equal(scores[torch.tensor([2])].of_sets(candidates.sets[[0]]), log_prob[2:, 1:2])
    candidates = dataclasses.replace(candidates, set_log_prob=None)
    with pytest.raises(ConfigurationError, match="'powerset'"):
        energy(candidates)


def test_label_scores(candidates):
    energy = filled(LabelScores(4))
    for row, z in enumerate(candidates.logits):
        for place, y in enumerate(candidates.sets):
            wanted = -sum(float((y[i] * (energy.scale[i] * z[i] + energy.bias[i])).detach()) for i in range(4))
            assert float(values(energy, candidates)[row, place]) == pytest.approx(wanted, rel=1e-4, abs=1e-6)


def test_set_count(candidates):
    energy = filled(SetCount(4))
    wanted = [-float(energy.weight) * math.log(count) for count in candidates.counts]
    assert values(energy, candidates)[0].tolist() == pytest.approx(wanted)


def test_set_size(candidates):
    energy = filled(SetSize(4, most=2))
    wanted = [float(energy.of_size[min(int(y.sum()), 2)]) for y in candidates.sets]
    assert values(energy, candidates)[0].tolist() == pytest.approx(wanted)


def test_label_pairs(candidates):
    energy = filled(LabelPairs(4, rank=4))
    pairs = energy.vectors @ torch.diag(torch.tensor([1.0, 1.0, -1.0, -1.0])) @ energy.vectors.T
    wanted = [
        -sum(float(y[i] * y[j] * pairs[i, j]) for i in range(4) for j in range(i + 1, 4)) for y in candidates.sets
    ]
    assert values(energy, candidates)[0].tolist() == pytest.approx(wanted, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("kind", [LabelScores, SetCount, SetSize, LabelPairs])
def test_likely_sets_have_the_energy_of_known_ones(kind):
    torch.manual_seed(0)
    logits, energy = torch.randn(3, 4), filled(kind(4))
    sets, counts = known_sets(GOLD)
    likely = LikelySets(logits, 5, SetIndex(sets))
    found = energy(likely).expand(3, 5)
    for row in range(3):
        # As if the instance's likely sets were the known ones, once each.
        alone = LabelSetCandidates(logits[row : row + 1], likely.sets[row], torch.ones(5))
        wanted = -energy.unseen.expand(5) if kind is SetCount else values(energy, alone)[0]
        torch.testing.assert_close(found[row], wanted)


def test_an_archive_from_before_unseen_sets_competed():
    energy = filled(SetCount(4))
    saved = {name: value for name, value in energy.state_dict().items() if name != "unseen"}
    energy.load_state_dict(saved)
    assert float(energy.unseen) == 0
