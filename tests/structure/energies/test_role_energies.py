"""The energies of frames against their formulas, an output at a time."""

import math
from collections import Counter

import pytest
import torch

from seal.common.tag_encodings import tags_to_spans
from seal.structure.energies import KeyRoles, RoleCounts, RoleNgrams, RoleSets, RoleTrigrams
from seal.structure.tag_sequences import TagCandidates
from tests.structure.makers import SCHEME, TAGS, filled, of_training

MASK = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])


def candidates(gold=(0, 2)):
    torch.manual_seed(0)
    tags = torch.randint(len(TAGS), (2, 5, 6))
    tags[:, 4] = 0  # An output without a span.
    return TagCandidates(tags, torch.zeros(2, 5), MASK, SCHEME, torch.tensor(gold), ["eat", "sleep"])


def roles_of(part, row, place):
    strings = [TAGS[i] for i in part.tags[row, place, : int(MASK[row].sum())]]
    return [SCHEME.roles.index(role) for role, *_ in tags_to_spans(strings)]


def check(energy, part, wanted):
    found = energy(part).expand(2, 5)
    for row in range(2):
        for place in range(5):
            roles = roles_of(part, row, place)
            assert float(found[row, place]) == pytest.approx(wanted(row, roles), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("kind", [RoleCounts, RoleNgrams, RoleTrigrams, RoleSets, KeyRoles])
def test_every_energy_is_0_at_first(kind):
    assert not kind(3)(candidates()).any()


def test_role_counts():
    energy = filled(RoleCounts(3))
    check(energy, candidates(), lambda row, roles: sum(float(energy.cost[r, min(roles.count(r), 2)]) for r in range(3)))


def test_role_ngrams():
    energy = filled(RoleNgrams(3))

    def wanted(row, roles):
        marked = [3, *roles, 3]
        return sum(float(energy.cost[a, b]) for a, b in zip(marked, marked[1:])) if roles else 0.0

    check(energy, candidates(), wanted)


def test_role_trigrams():
    energy = filled(RoleTrigrams(3))

    def wanted(row, roles):
        marked = [3, 3, *roles, 3]
        return sum(float(energy.cost[three]) for three in zip(marked, marked[1:], marked[2:])) if roles else 0.0

    check(energy, candidates(), wanted)


def training():
    """Gold of six training outputs, as their only candidates."""
    torch.manual_seed(2)
    tags = torch.randint(len(TAGS), (6, 1, 6))
    tags[3] = tags[0]
    mask = torch.ones(6, 6, dtype=torch.bool)
    keys = ["eat", "eat", "run", "run", "eat", "go"]
    return TagCandidates(tags, torch.zeros(6, 1), mask, SCHEME, torch.zeros(6, dtype=torch.long), keys)


def role_lists(part):
    return [[role for role in part.spans.roles[row, 0].tolist() if role >= 0] for row in range(len(part.tags))]


def test_role_sets_count_the_training_outputs_with_the_same_roles():
    energy, gold = filled(RoleSets(3)), training()
    energy.prepare(gold)
    known = Counter(tuple(sorted(roles)) for roles in role_lists(gold))

    def cost(seen):
        return -float(energy.weight) * math.log(1 + seen) + float(energy.unseen) * (seen == 0)

    check(energy, candidates(), lambda row, roles: cost(known[tuple(sorted(roles))]))
    # Each as training data: candidates with the roles of gold have one occurrence less, its own.
    wanted = [cost(known[tuple(sorted(roles))] - 1) for roles in role_lists(gold)]
    assert energy(of_training(gold)).squeeze(1).tolist() == pytest.approx(wanted)
    # Those of the same group are left out, too: 0 and 3 have the same roles.
    left = energy(of_training(gold, [0, 1, 2, 0, 4, 5])).squeeze(1).tolist()
    assert left == pytest.approx(
        [cost(known[tuple(sorted(role_lists(gold)[0]))] - 2), *wanted[1:3], left[0], *wanted[4:]]
    )


def test_key_roles_shrink_what_a_key_has_towards_what_all_have():
    energy, gold = filled(KeyRoles(3, shrinkage=2.0)), training()
    energy.prepare(gold)
    lists = role_lists(gold)
    share = [(sum(r in roles for roles in lists) + 0.5) / 7 for r in range(3)]

    def cost(key, roles, without=()):
        known = [r for place, (r, k) in enumerate(zip(lists, gold.keys)) if k == key and place not in without]
        total = 0.0
        for r in range(3):
            p = (sum(r in other for other in known) + 2 * share[r]) / (len(known) + 2)
            p = min(max(p, 1e-4), 1 - 1e-4)
            total -= float(energy.weight + energy.of_role[r]) * math.log(p if r in roles else 1 - p)
        return total

    part = candidates()
    check(energy, part, lambda row, roles: cost(part.keys[row], roles))
    wanted = [cost(key, roles, [place]) for place, (key, roles) in enumerate(zip(gold.keys, lists))]
    assert energy(of_training(gold)).squeeze(1).tolist() == pytest.approx(wanted, rel=1e-4)
    # Of a group all is left out; 0 and 1 have the same key.
    wanted = [
        cost(key, roles, [[0, 1, 2], [3, 4, 5]][place // 3]) for place, (key, roles) in enumerate(zip(gold.keys, lists))
    ]
    assert energy(of_training(gold, [7, 7, 7, 9, 9, 9])).squeeze(1).tolist() == pytest.approx(wanted, rel=1e-4)


def test_counts_are_saved_and_loaded_whatever_their_size():
    for kind in (RoleSets, KeyRoles):
        energy = filled(kind(3))
        energy.prepare(training())
        again = kind(3)
        again.load_state_dict(energy.state_dict())
        assert torch.equal(again(candidates()), energy(candidates()))
