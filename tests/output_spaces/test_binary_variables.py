"""What all spaces of binary variables share, where `test_label_set.py` and `test_binary_mask.py` do not look."""

import itertools

import pytest
import torch

from seal.output_spaces import binary_variables
from seal.output_spaces.binary_variables import packed
from tests.label_sets import label_set

DRAWS = 200_000


@pytest.mark.parametrize("variables", [1, 7, 8, 9, 63, 64, 65, 130])
def test_rows_are_equal_where_their_words_are(variables):
    torch.manual_seed(0)
    rows = torch.rand(20, variables) < 0.5
    # Each row again, and each with one variable changed.
    changed = rows.clone()
    at = torch.randint(variables, (20,))
    changed[torch.arange(20), at] ^= True
    words, same, other = packed(rows), packed(rows.clone()), packed(changed)
    assert words.shape == (20, -(-variables // 64)) and words.dtype == torch.int64
    assert torch.equal(words, same)
    assert ((words != other).sum(dim=1) == 1).all() and (words != other).nonzero()[:, 1].equal(at // 64)


def test_all_sets_of_nine_variables_have_words_of_their_own():
    sets = torch.tensor(list(itertools.product([False, True], repeat=9)))
    assert len(set(packed(sets).squeeze(1).tolist())) == 2**9


@pytest.mark.parametrize("rare", [0.0, 1.0], ids=["by comparison", "by events"])
def test_both_ways_to_draw_have_the_same_distribution(rare, monkeypatch):
    monkeypatch.setattr(binary_variables, "_RARE", rare * 100)
    torch.manual_seed(0)
    logits = torch.tensor([[-3.0, 0.0, -1.0], [2.0, -200.0, -5.0]], requires_grad=True)
    space = label_set(3)
    draws = space.sample(logits, DRAWS)
    assert draws.shape == (2, DRAWS, 3) and set(draws.unique().tolist()) == {0, 1}
    assert draws.dtype == logits.dtype and not draws.requires_grad
    # All eight sets of labels, against the probability of each.
    sets = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)))
    expected = space.log_prob(logits, sets.expand(2, 8, 3)).exp()
    codes = (draws * torch.tensor([4.0, 2.0, 1.0])).sum(dim=-1).long()
    found = torch.stack([row.bincount(minlength=8) for row in codes]) / DRAWS
    assert torch.allclose(expected.sum(dim=1), torch.ones(2))
    deviation = (expected * (1 - expected) / DRAWS).sqrt()
    assert ((found - expected).abs() <= 4.5 * deviation + 1e-12).all()
    # Neighbouring draws know nothing of each other.
    pairs = torch.stack([(8 * row[::2] + row[1::2]).bincount(minlength=64) for row in codes]) / (DRAWS / 2)
    expected = (expected.unsqueeze(2) * expected.unsqueeze(1)).flatten(1)
    deviation = (expected * (1 - expected) / (DRAWS / 2)).sqrt()
    assert ((pairs - expected).abs() <= 4.5 * deviation + 1e-12).all()
    # What is impossible to all intents is never drawn.
    assert draws[1, :, 1].sum() == 0
