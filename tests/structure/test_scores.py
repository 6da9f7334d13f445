import math

import pytest
import torch
from scipy.stats import beta
from sklearn.metrics import accuracy_score, f1_score

from seal.structure.scores import example_f1, micro_f1, rate_upper_bound, subset_accuracy


@pytest.fixture
def labels():
    generator = torch.Generator().manual_seed(0)
    gold = torch.rand(200, 5, generator=generator) < 0.4
    predicted = gold ^ (torch.rand(200, 5, generator=generator) < 0.2)
    return predicted, gold


def test_the_scores_are_those_of_scikit_learn(labels):
    predicted, gold = labels
    arrays = gold.numpy(), predicted.numpy()
    assert example_f1(*labels).value == pytest.approx(f1_score(*arrays, average="samples", zero_division=1.0))
    assert micro_f1(*labels).value == pytest.approx(f1_score(*arrays, average="micro"))
    assert subset_accuracy(*labels).value == pytest.approx(accuracy_score(*arrays))


def test_the_standard_error_of_a_gain_is_that_of_resampled_data(labels):
    predicted, gold = labels
    better = predicted.clone()
    better[::3] = gold[::3]
    ours, theirs = micro_f1(better, gold), micro_f1(predicted, gold)
    gain, error = ours.gain_over(theirs)
    generator = torch.Generator().manual_seed(1)
    gains = []
    for _ in range(2000):
        rows = torch.randint(200, (200,), generator=generator)
        gains.append(micro_f1(better[rows], gold[rows]).value - micro_f1(predicted[rows], gold[rows]).value)
    assert gain == pytest.approx(ours.value - theirs.value)
    assert error == pytest.approx(float(torch.tensor(gains).std()), rel=0.1)


@pytest.mark.filterwarnings("error")
def test_one_instance_has_no_standard_error(labels):
    predicted, gold = labels
    gain, error = micro_f1(gold[:1], gold[:1]).gain_over(micro_f1(predicted[:1], gold[:1]))
    assert gain >= 0 and math.isnan(error)


@pytest.mark.parametrize("found, number", [(0, 100), (0, 1), (1, 300), (7, 20), (90, 40_000), (5, 5)])
def test_the_upper_bound_of_a_rate_is_that_of_clopper_and_pearson(found, number):
    wanted = beta.ppf(0.95, found + 1, number - found) if found < number else 1.0
    assert rate_upper_bound(found, number) == pytest.approx(wanted, abs=1e-8)
