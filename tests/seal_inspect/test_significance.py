import itertools

import numpy
import pytest

from seal_inspect.significance import f1_of_counts, mean_of, paired_bootstrap


def test_p_against_all_draws():
    """Of three examples there are 27 equally likely draws with replacement."""
    statistic = f1_of_counts()
    first = numpy.array([[1, 2, 3], [0, 1, 2], [2, 2, 2]])
    second = numpy.array([[2, 2, 3], [1, 1, 2], [1, 3, 2]])

    def score(table):
        correct, predicted, gold = table.sum(axis=0)
        return 200 * correct / max(predicted + gold, 1)

    observed = score(second) - score(first)
    draws = [list(draw) for draw in itertools.product(range(3), repeat=3)]
    differences = [score(second[draw]) - score(first[draw]) for draw in draws]
    exact = numpy.mean([abs(difference - observed) >= abs(observed) - 1e-9 for difference in differences])
    found = paired_bootstrap(first, second, statistic, resamples=20000)
    assert found.difference == pytest.approx(observed) and 0.1 < exact < 0.9
    assert found.p_value == pytest.approx(exact, abs=0.02)


def test_equal_systems_do_not_differ():
    table = numpy.array([[1, 1], [0, 1], [1, 1]])
    assert paired_bootstrap(table, table, mean_of("right", "tokens")) == (0.0, 1.0)
