from functools import partial

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from seal.structure.scores import LABEL_SET_SCORES
from seal.structure.thresholds import (
    best_label_thresholds,
    best_micro_threshold,
    best_subset_threshold,
    best_threshold,
    best_threshold_for,
)

FEW = [0.0, 2.0**-149, 0.125, 0.25, 0.5, 0.625, 1 - 2.0**-24, 1.0]


def example_f1(predicted, gold, empty_f1=1.0):
    """Row by row, in sets."""
    total = 0.0
    for chosen, wanted in zip(predicted.tolist(), gold.tolist()):
        chosen = {i for i, value in enumerate(chosen) if value}
        wanted = {i for i, value in enumerate(wanted) if value}
        size = len(chosen) + len(wanted)
        total += 2 * len(chosen & wanted) / size if size else empty_f1
    return total / len(gold)


def micro_f1(predicted, gold):
    return 2.0 * (predicted & gold).sum().item() / max((predicted.sum() + gold.sum()).item(), 1)


def all_thresholds(probabilities):
    """One for each set of labels that a threshold in (0, 1) can take: the values, and more than all of them."""
    values = probabilities.flatten().unique()
    top = torch.nextafter(torch.ones((), dtype=values.dtype), torch.zeros((), dtype=values.dtype))
    return torch.cat([values[(values > 0) & (values < 1)], top.view(1)]).tolist()


@st.composite
def tables(draw):
    """Few distinct values, so that many are equal, in a row and across rows; the borders among them."""
    rows, labels = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    size = rows * labels
    values = draw(st.lists(st.sampled_from(FEW), min_size=size, max_size=size))
    gold = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return torch.tensor(values).view(rows, labels), torch.tensor(gold).view(rows, labels)


@settings(max_examples=400, deadline=None)
@given(tables(), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_threshold_is_better(table, empty_f1):
    probabilities, gold = table
    for found, score in (
        (best_threshold(probabilities, gold, empty_f1), partial(example_f1, empty_f1=empty_f1)),
        (best_micro_threshold(probabilities, gold), micro_f1),
    ):
        assert 0 < found < 1
        best = max(score(probabilities >= t, gold) for t in all_thresholds(probabilities))
        assert score(probabilities >= found, gold) == pytest.approx(best, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(tables())
def test_no_label_threshold_is_better(table):
    probabilities, gold = table
    found = best_label_thresholds(probabilities, gold, default=0.3)
    assert found.shape == gold.shape[1:] and ((found > 0) & (found < 1)).all()
    for label, threshold in enumerate(found):
        p, y = probabilities[:, label], gold[:, label]

        def f1(t):
            return f1_score(y, p >= t, zero_division=0.0)

        best = max(map(f1, all_thresholds(p)))
        assert f1(threshold) == pytest.approx(best, abs=1e-12)
        if best == 0:
            assert threshold == torch.tensor(0.3)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_no_threshold_is_better_on_random_rows(dtype):
    generator = torch.Generator().manual_seed(3)
    gold = torch.rand(40, 12, generator=generator) < torch.linspace(0, 0.5, 12)
    gold[:5] = False
    noise = torch.randn(40, 12, generator=generator, dtype=torch.float64)
    probabilities = (1.5 * noise + 2 * gold - 2).sigmoid().to(dtype)
    found = best_threshold(probabilities, gold)
    scores = [example_f1(probabilities >= t, gold) for t in all_thresholds(probabilities)]
    assert example_f1(probabilities >= found, gold) == pytest.approx(max(scores), abs=1e-12)
    assert max(scores) > example_f1(probabilities >= 0.5, gold)

    found = best_label_thresholds(probabilities, gold)
    assert found.dtype == dtype
    achieved = f1_score(gold, probabilities >= found, average=None, zero_division=0.0)
    best = [f1_score(gold, probabilities >= t, average=None, zero_division=0.0) for t in all_thresholds(probabilities)]
    assert achieved == pytest.approx(numpy.max(best, axis=0), abs=1e-12)
    assert found[0] == 0.5 and not gold[:, 0].any()


def test_it_lies_midway():
    probabilities = torch.tensor([[0.875, 0.5, 0.125], [0.625, 0.25, 0.25]])
    gold = torch.tensor([[1, 1, 0], [1, 0, 0]])
    assert best_threshold(probabilities, gold) == 0.375
    thresholds = best_label_thresholds(probabilities, gold, default=0.75)
    # Nothing is left of the first label, so its threshold is midway to 0.
    assert thresholds.tolist() == [0.3125, 0.375, 0.75]


def test_predicting_nothing_may_be_best():
    probabilities = torch.tensor([[0.5, 0.75], [0.25, 0.5], [0.5, 0.25]])
    gold = torch.tensor([[False, False], [False, False], [False, True]])
    # Midway between the highest probability and 1.
    assert best_threshold(probabilities, gold) == 0.875
    # Where such rows do not count, the one other row decides: everything is taken.
    assert best_threshold(probabilities, gold, empty_f1=0.0) == 0.125


def test_equal_probabilities_of_a_row_are_taken_together():
    """A cut after the first of four equal labels, where it is gold, would look better than any possible one."""
    probabilities = torch.tensor([[0.5, 0.5, 0.5, 0.5, 0.25]])
    for label in range(4):
        gold = torch.zeros(1, 5, dtype=torch.bool)
        gold[0, label] = gold[0, 4] = True
        # 2/6 with four labels, 4/7 with five.
        assert best_threshold(probabilities, gold) == 0.125


def test_no_number_lies_between_neighbours():
    """Their midpoint is rounded to one of them, and to the lower one where that is even."""
    for lower in (torch.tensor(0.5), torch.nextafter(torch.tensor(0.5), torch.tensor(1.0))):
        upper = torch.nextafter(lower, torch.tensor(1.0))
        probabilities = torch.stack([upper, lower]).unsqueeze(0)
        found = best_threshold(probabilities, torch.tensor([[True, False]]))
        assert (probabilities >= found).tolist() == [[True, False]]
        found = best_label_thresholds(probabilities.t(), torch.tensor([[True], [False]]))
        assert (probabilities.t() >= found).tolist() == [[True], [False]]


def test_sure_labels_are_always_taken_and_impossible_ones_never():
    probabilities = torch.tensor([[1.0, 1.0, 0.0, 0.0]])
    for gold in ([0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]):
        assert best_threshold(probabilities, torch.tensor([gold])) == 0.5


def test_leaves_the_arguments_alone():
    probabilities = torch.rand(3, 4, requires_grad=True)
    before = probabilities.detach().clone()
    gold = torch.tensor([[1.0, 0.0, 0.0, 1.0]] * 3)
    best_threshold(probabilities, gold)
    best_label_thresholds(probabilities, gold)
    assert torch.equal(probabilities, before) and gold.tolist() == [[1.0, 0.0, 0.0, 1.0]] * 3


@pytest.mark.parametrize("function", [best_threshold, best_micro_threshold, best_label_thresholds])
@pytest.mark.parametrize(
    "probabilities, gold, message",
    [
        (torch.zeros(0, 3), torch.zeros(0, 3), "found no rows"),
        (torch.zeros(2, 3), torch.zeros(2, 4), r"\(2, 3\) and \(2, 4\)"),
        (torch.zeros(3), torch.zeros(3), r"\(rows, labels\)"),
        (torch.full((1, 2), 1.5), torch.zeros(1, 2), "sigmoid"),
        (torch.full((1, 2), -0.5), torch.zeros(1, 2), "sigmoid"),
        (torch.full((1, 2), float("nan")), torch.zeros(1, 2), "sigmoid"),
        (torch.ones(1, 2, dtype=torch.long), torch.zeros(1, 2), "sigmoid"),
    ],
)
def test_refuses_what_it_cannot_tune_on(function, probabilities, gold, message):
    with pytest.raises(ValueError, match=message):
        function(probabilities, gold)


@pytest.mark.parametrize("seed", range(4))
def test_gold_that_cannot_be_predicted_is_part_of_what_is_maximised(seed):
    generator = torch.Generator().manual_seed(seed)
    probabilities = torch.rand(6, 4, generator=generator)
    gold = torch.rand(6, 4, generator=generator) < 0.4
    missed = torch.randint(0, 6, (6,), generator=generator)

    def scores(threshold):
        predicted = probabilities >= threshold
        correct, total = (predicted & gold).sum(dim=1), predicted.sum(dim=1) + gold.sum(dim=1) + missed
        example = torch.where(total > 0, 2 * correct.double() / total.clamp(min=1), 1.0).mean()
        return example.item(), (2 * correct.sum() / total.sum()).item()

    every = [scores(t) for t in torch.linspace(0.0005, 0.9995, 2000)]
    assert scores(best_threshold(probabilities, gold, missed=missed))[0] >= max(one for one, _ in every) - 1e-9
    assert scores(best_micro_threshold(probabilities, gold, missed=missed))[1] >= max(one for _, one in every) - 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_for_exact_rows_is_that_of_enumeration(seed):
    generator = torch.Generator().manual_seed(seed)
    gold = torch.randint(0, 2, (12, 3), generator=generator).bool()
    probabilities = (0.5 * gold + 0.7 * torch.rand(gold.shape, generator=generator)).clamp(0.01, 0.99)

    def exact(threshold):
        return int(((probabilities >= threshold) == gold).all(dim=1).sum())

    best = max(map(exact, all_thresholds(probabilities)))
    assert exact(best_subset_threshold(probabilities, gold)) == best > 0


def test_no_row_is_ever_exact():
    gold = torch.tensor([[True, False]])
    assert best_subset_threshold(torch.tensor([[0.2, 0.7]]), gold) == 0.5


@pytest.mark.parametrize("score", ["f1", "micro_f1", "subset_accuracy"])
def test_a_weight_counts_as_so_many_rows(score):
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        probabilities, gold = torch.rand(8, 3, generator=generator), torch.randint(2, (8, 3), generator=generator)
        weights = torch.randint(0, 4, (8,), generator=generator)
        again = torch.arange(8).repeat_interleave(weights)
        wanted = best_threshold_for(score, probabilities[again], gold[again])
        found = best_threshold_for(score, probabilities, gold, weights=weights)
        labels = [probabilities[again] >= threshold for threshold in (found, wanted)]
        values = [LABEL_SET_SCORES[score](one, gold[again].bool()).value for one in labels]
        assert values[0] == pytest.approx(values[1])
