import numpy
import pytest

from seal_inspect.findings import Example, Findings


def test_calibration_by_hand():
    found = Findings()
    found.confidences.append(numpy.array([0.05, 0.95, 1.0, 0.85]))
    found.hits.append(numpy.array([False, True, False, True]))
    bins, error = found.calibration()
    assert bins == [(0.05, 0.0, 1), (0.85, 1.0, 1), (pytest.approx(0.975), 0.5, 2)]
    assert error == pytest.approx((0.05 + 0.15 + 2 * 0.475) / 4)
    assert Findings().calibration() == ([], 0.0)


def test_the_loss_net_is_misled_where_it_likes_a_mistake():
    found = Findings()
    for name, right, gold, predicted in (
        ("agrees", False, -1.0, -2.0),
        ("agrees most", False, -1.0, -5.0),
        ("knows better", False, -3.0, -2.0),
        ("right", True, -1.0, -1.0),
    ):
        found.examples.append(Example(name, "", "", "", right, 1.0, gold, predicted))
    assert [one.source for one in found.misjudged(9)] == ["agrees most", "agrees"]


def test_labels_are_counted_the_most_frequent_in_gold_first():
    found = Findings()
    found.count_labels(["A", "B", "B"], ["B", "C"], ["B"])
    found.count_labels(["B"], [], [])
    assert list(found.by_label()) == ["B", "A", "C"]
    counts = found.by_label()["B"]
    assert counts == (3, 1, 1)
    assert (counts.precision, counts.recall, counts.f1) == (100, pytest.approx(100 / 3), 50)
    assert found.by_label()["C"].recall == found.by_label()["C"].f1 == 0
