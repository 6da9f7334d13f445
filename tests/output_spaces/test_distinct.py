import math
from collections import Counter

import torch

from seal.output_spaces import output_space as distinct
from seal.output_spaces.output_space import merge_equal


def test_draws_are_counted():
    torch.manual_seed(0)
    keys = torch.randint(2, (5, 12, 3))
    keys[0] = keys[0, :1]  # One instance repeats itself.
    chosen, log_count = merge_equal(keys)
    expected = [Counter(map(tuple, instance)) for instance in keys.tolist()]
    assert chosen.shape == log_count.shape == (5, max(map(len, expected)))
    for instance, counter in enumerate(expected):
        counted = {}
        for draw, count in zip(chosen[instance].tolist(), log_count[instance].tolist()):
            owner, place = divmod(draw, 12)
            assert owner == instance
            if count > -math.inf:
                key = tuple(keys[owner, place].tolist())
                assert key not in counted
                counted[key] = round(math.exp(count))
        assert counted == counter


def test_different_draws_of_the_same_code_stay_apart(monkeypatch):
    tried = []

    def multipliers(size, seed, device):
        tried.append(seed)
        return torch.tensor([1, 1] if seed == 0 else [1, 5])

    monkeypatch.setattr(distinct, "_multipliers", multipliers)
    chosen, log_count = merge_equal(torch.tensor([[[1, 2], [2, 1], [1, 2]]]))
    assert tried == [0, 1]
    assert sorted(log_count.exp()[0].tolist()) == [1, 2] and chosen.shape == (1, 2)


def test_draws_that_differ_in_their_highest_bits_alone_stay_apart():
    top = -(2**63)
    chosen, log_count = merge_equal(torch.tensor([[[top, top], [0, 0], [top, top]]]))
    assert sorted(log_count.exp()[0].tolist()) == [1, 2] and chosen.shape == (1, 2)
