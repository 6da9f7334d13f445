import numpy
import pytest
from sklearn.metrics import mutual_info_score

from seal_inspect.label_statistics import (
    co_occurrence,
    label_sets,
    least_associated,
    most_associated,
    pointwise_mutual_information,
)

GOLD = numpy.array(
    [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 1, 0]], dtype=bool
)


def random_gold(rows=200, labels=6):
    generator = numpy.random.default_rng(0)
    return generator.random((rows, labels)) < generator.random(labels)


def test_label_sets_counted_by_hand():
    sets = label_sets(GOLD)
    assert sets.summary == {
        "rows": 6,
        "labels": 5,
        "different_sets": 5,
        "diversity": 5 / 6,
        "mean_size": 8 / 6,
        "empty_rows": 1,
        "rows_of_several": 3,
        "only_alone": 1,
        "only_with_others": 2,
        "both": 1,
        "never": 1,
    }
    assert sets.counts.tolist() == [3, 3, 1, 1, 0] and sets.alone.tolist() == [1, 0, 1, 0, 0]
    assert sets.sizes.tolist() == [1, 2, 3]


def test_different_sets_of_many_labels():
    gold = random_gold(300, 11)
    assert label_sets(gold).summary["different_sets"] == len({tuple(row) for row in gold.tolist()})


def test_co_occurrence_and_pointwise_mutual_information_against_counting():
    gold = random_gold()
    together, information = co_occurrence(gold), pointwise_mutual_information(gold)
    for i in range(6):
        assert together[i, i] == 0 and numpy.isnan(information[i, i])
        for k in set(range(6)) - {i}:
            both = sum(row[i] and row[k] for row in gold.tolist()) / len(gold)
            assert together[i, k] == pytest.approx(both)
            assert information[i, k] == pytest.approx(numpy.log(both / (gold[:, i].mean() * gold[:, k].mean())))
    # scikit-learn's mutual information is the mean over all four outcomes of a pair.
    pairs = [(gold[:, 0] == a, gold[:, 1] == b) for a in (True, False) for b in (True, False)]
    mean = sum((x & y).mean() * pointwise_mutual_information(numpy.stack([x, y], axis=1))[0, 1] for x, y in pairs)
    assert mean == pytest.approx(mutual_info_score(gold[:, 0], gold[:, 1]))
    assert numpy.isnan(pointwise_mutual_information(GOLD)[0, 2])


def test_pairs():
    # 2/6 log((2/6) / (3/6 3/6)) against 1/6 log((1/6) / (3/6 1/6)); the rarer label comes first.
    assert most_associated(GOLD) == [3, 1]
    among = numpy.zeros((5, 5), dtype=bool)
    among[0, 1] = among[0, 2] = True
    assert most_associated(GOLD, among) == [0, 1] and most_associated(GOLD, among.T & ~among.T) is None
    # A label that all rows have carries no information.
    always = numpy.concatenate([GOLD, numpy.ones((6, 1), dtype=bool)], axis=1)
    assert most_associated(always) == [3, 1]
    information = numpy.abs(pointwise_mutual_information(GOLD)[1])
    assert least_associated(GOLD, 1, least=1) == int(numpy.nanargmin(information)) == 0
    assert least_associated(GOLD, 1, [0], least=1) == 3 and least_associated(GOLD, 1, [0], least=2) is None
    assert least_associated(GOLD, 2, least=1) is None
