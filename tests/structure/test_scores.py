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


@pytest.mark.parametrize("found, number", [(0, 100), (0, 1), (1, 300), (7, 20), (90, 40_000), (5, 5)])
def test_the_upper_bound_of_a_rate_is_that_of_clopper_and_pearson(found, number):
    wanted = beta.ppf(0.95, found + 1, number - found) if found < number else 1.0
    assert rate_upper_bound(found, number) == pytest.approx(wanted, abs=1e-8)
