"""scripts/predicates.py: the scores, by hand."""

import pytest

from scripts.predicates import scores


@pytest.mark.parametrize(
    "found, gold, expected",
    [
        # Two of four are right, and two of four are found; one of the two sentences with a predicate is silent.
        ([[0, 2, 5], [], [1]], [{0, 5}, {1, 3}, set()], (50.0, 50.0, 50.0, 50.0)),
        ([[0], [1]], [{0, 1}, {1}], (100.0, 66.7, 80.0, 0.0)),
        ([[]], [set()], (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_scores(found, gold, expected):
    table = scores(found, gold)
    assert (table["precision"], table["recall"], table["f1"], table["silent"]) == expected
