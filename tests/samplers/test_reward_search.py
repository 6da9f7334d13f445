import pytest
import torch

from seal.samplers import RewardSearch
from tests.spine import mask_of, tag_sequence


def right_words(target):
    """A reward: the share of real words with the tag of `target (batch, tokens)`."""

    def reward(outputs, mask):
        return ((outputs == target.unsqueeze(1)) & mask.unsqueeze(1)).sum(2) / mask.sum(1, keepdim=True)

    return reward


def test_without_rounds_it_is_the_best_candidate():
    mask, target = mask_of([3, 2]), torch.tensor([[0, 1, 2], [2, 2, 0]])
    candidates = torch.tensor([[[0, 0, 0], [0, 1, 0]], [[2, 2, 1], [2, 0, 0]]])
    found, value = RewardSearch(rounds=0)(right_words(target), candidates, tag_sequence(3), mask)
    assert found.tolist() == [[0, 1, 0], [2, 2, 1]] and value.tolist() == pytest.approx([2 / 3, 1])


def test_flips_of_real_words_reach_the_highest_reward():
    torch.manual_seed(0)
    mask, target = mask_of([6, 3]), torch.randint(4, (2, 6))
    candidates = torch.randint(4, (2, 2, 6))
    before = right_words(target)(candidates, mask).amax(dim=1)
    space, last = tag_sequence(4), before
    for rounds in (2, 100):
        found, value = RewardSearch(rounds, flips=5)(right_words(target), candidates, space, mask)
        assert torch.equal(value, right_words(target)(found.unsqueeze(1), mask).squeeze(1)) and (value >= last).all()
        last = value
    assert (before < 1).any() and torch.equal(value, torch.ones(2))
    # Padding stays as it was in the candidate.
    assert any(torch.equal(found[1, 3:], row[3:]) for row in candidates[1])


def test_a_round_flips_one_word():
    torch.manual_seed(0)
    mask, candidates = mask_of([8]), torch.zeros(1, 1, 8, dtype=torch.long)
    found, value = RewardSearch(rounds=1, flips=200)(right_words(torch.ones(1, 8)), candidates, tag_sequence(2), mask)
    assert found.sum() == 1 and value.item() == pytest.approx(1 / 8)


def test_padding_stays_as_it_was_whatever_it_is_worth():
    """A reward that would pay for what stands there."""
    torch.manual_seed(0)
    mask, candidates = mask_of([6, 2, 1]), torch.zeros(3, 1, 6, dtype=torch.long)

    def paid(outputs, mask):
        return (outputs == 1).sum(dim=2).double()

    found, value = RewardSearch(rounds=60, flips=5)(paid, candidates, tag_sequence(2), mask)
    assert torch.equal(found, mask.long()) and value.tolist() == [6, 2, 1]


def test_where_no_flip_raises_the_reward_nothing_moves():
    torch.manual_seed(0)
    mask, candidates = mask_of([4, 2]), torch.randint(3, (2, 1, 4))

    def flat(outputs, mask):
        return torch.full(outputs.shape[:2], 0.5)

    found, value = RewardSearch(rounds=20, flips=5)(flat, candidates, tag_sequence(3), mask)
    assert torch.equal(found, candidates[:, 0]) and value.tolist() == [0.5, 0.5]
