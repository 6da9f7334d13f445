"""What every output space has from the base class; the spaces themselves have tests of their own."""

import math
from collections import Counter
from functools import partial

import pytest
import torch

from seal.output_spaces import Candidates, OutputSpace, RewardedCandidates, output_space
from seal.output_spaces.output_space import dot, merge_equal
from tests.label_sets import label_set
from tests.spine import mask_of, tag_sequence


@pytest.mark.parametrize("masked", [False, True])
def test_candidates_are_relaxed_each_for_itself(masked):
    torch.manual_seed(0)
    space, logits = tag_sequence(3), torch.randn(2, 4, 5, 3, dtype=torch.double, requires_grad=True)
    mask = mask_of([5, 2]) if masked else None
    found = space.relax_candidates(logits, mask)
    each = torch.cat([space.relax(logits[:, k], mask) for k in range(4)], dim=1)
    assert found.shape == logits.shape and torch.equal(found, each)
    (gradient,) = torch.autograd.grad(found.square().sum(), logits)
    assert gradient[0].any() and (not masked or not gradient[1, :, 2:].any())


def test_candidates_of_label_sets():
    logits = torch.tensor([[[0.0, 2.0], [-1.0, 50.0]]])
    assert torch.equal(label_set(2).relax_candidates(logits), logits.sigmoid())


def test_a_space_that_merges_nothing_counts_each_draw_once():
    outputs = torch.zeros(2, 3, 4)
    found, log_count = OutputSpace().distinct(outputs)
    assert found is outputs and log_count.tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.float])
@pytest.mark.parametrize("space, shape", [(label_set(3), (80, 3)), (tag_sequence(3), (20, 4, 3))])
def test_straight_through_is_exact(space, shape, dtype):
    torch.manual_seed(0)
    output = space.straight_through(space.relax(torch.randn(shape, dtype=dtype)))
    assert output.unique().tolist() == [0, 1]


@pytest.mark.parametrize("space, row", [(label_set(2), [50.0, -50.0]), (tag_sequence(2), [[50.0, -50.0]])])
def test_relaxed_draws_of_extreme_logits(space, row):
    logits = torch.tensor([row], requires_grad=True)
    draws = space.relaxed_sample(logits, 100)
    assert torch.isfinite(draws).all()
    assert torch.isfinite(torch.autograd.grad(draws.sum(), logits)[0]).all()


@pytest.mark.parametrize("shape", [(3,), (2, 4)])
def test_inner_products_against_a_loop(shape):
    torch.manual_seed(0)
    outputs, vectors = torch.randn(2, 5, *shape, dtype=torch.double), torch.randn(2, *shape, dtype=torch.double)
    found = dot(outputs, vectors)
    for b in range(2):
        for k in range(5):
            assert found[b, k].item() == pytest.approx((outputs[b, k] * vectors[b]).sum().item())


def test_half_precision_loses_no_unit():
    """4,097 ones: between 4,096 and 8,192, half precision knows every fourth number."""
    ones = torch.ones(1, 1, 4097, dtype=torch.half)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = dot(ones, ones[:, 0])
    assert found.dtype == torch.float and found.item() == 4097


def test_without_merged_draws_each_candidate_counts_once():
    counts = Candidates(torch.rand(2, 3, 4)).log_counts()
    assert counts.shape == (2, 3) and counts.exp().tolist() == [[1, 1, 1]] * 2


def test_the_counts_of_merged_draws():
    given = torch.tensor([[3.0, 1.0, 0.0]]).log()
    assert Candidates(torch.rand(1, 3, 4), log_count=given).log_counts() is given
    rewarded = RewardedCandidates(
        torch.rand(1, 3, 4),
        log_count=given,
        target=torch.rand(1, 4),
        labelled=torch.tensor([True]),
        reward_gap=torch.zeros(1, 3),
    )
    assert rewarded.log_counts() is given


# Equal draws are merged.


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

    monkeypatch.setattr(output_space, "_multipliers", multipliers)
    chosen, log_count = merge_equal(torch.tensor([[[1, 2], [2, 1], [1, 2]]]))
    assert tried == [0, 1]
    assert sorted(log_count.exp()[0].tolist()) == [1, 2] and chosen.shape == (1, 2)


def test_draws_that_differ_in_their_highest_bits_alone_stay_apart():
    top = -(2**63)
    chosen, log_count = merge_equal(torch.tensor([[[top, top], [0, 0], [top, top]]]))
    assert sorted(log_count.exp()[0].tolist()) == [1, 2] and chosen.shape == (1, 2)


def few_sets(num_labels):
    """Draws from few sets, of which every label but one may be the same."""
    pool = (torch.rand(5, num_labels) < 0.5).double()
    pool[1] = pool[0]
    pool[1, -1] = 1 - pool[0, -1]
    return pool[torch.randint(5, (3, 12))]


DRAWN = {
    "tags": (tag_sequence(2), lambda: torch.randint(2, (3, 12, 4)), None),
    "tags with padding": (tag_sequence(2), lambda: torch.randint(2, (3, 12, 4)), [4, 2, 1]),
    **{f"sets of {n} labels": (label_set(n), partial(few_sets, n), None) for n in (1, 4, 64, 65, 200)},
}


@pytest.mark.parametrize("space, draw, lengths", DRAWN.values(), ids=DRAWN.keys())
def test_distinct_keeps_the_multiset(space, draw, lengths):
    torch.manual_seed(0)
    outputs, mask = draw(), None if lengths is None else mask_of(lengths)
    outputs[0, :] = outputs[0, :1]  # One alone.
    distinct, log_count = space.distinct(outputs, mask)
    assert distinct.dtype == outputs.dtype
    widths = []
    for i in range(3):
        length = outputs.shape[2] if lengths is None else lengths[i]
        drawn = Counter(map(tuple, outputs[i, :, :length].tolist()))
        real = log_count[i] > -math.inf
        merged = list(map(tuple, distinct[i, real, :length].tolist()))
        assert len(set(merged)) == len(merged)
        assert dict(zip(merged, log_count[i, real].exp().tolist())) == pytest.approx(dict(drawn))
        # A filler is an output the instance has, so that its energy is finite.
        assert set(map(tuple, distinct[i, :, :length].tolist())) == set(drawn)
        assert not distinct[i, :, length:].any()
        widths.append(len(merged))
    assert widths[0] == 1 < max(widths) == distinct.shape[1] == log_count.shape[1]


@pytest.mark.parametrize("space, shape", [(label_set(2), (1, 2, 2)), (tag_sequence(2), (1, 2, 3, 2))])
def test_distinct_refuses_relaxed_outputs(space, shape):
    with pytest.raises(TypeError, match="relaxed"):
        space.distinct(torch.rand(shape))
