"""scripts/upkeep/training_costs.py: the tables of trainings of pages, as ratios to cross-entropy."""

import pytest

from scripts.upkeep.training_costs import number, page, ratios, trainings

HEADS = (
    "| data set: method | group | parameters trained | at prediction | seconds an epoch | epochs | best epoch | "
    "examples a second |\n| :-- | --: | --: | --: | --: | --: | --: | --: |\n"
)
PAGE = (
    "# Results\n\n## multilabel: multi-label classification of features\n\n### Training\n\n"
    + HEADS
    + "| a: cross-entropy | Feed-forward | 0.50 M | 0.50 M | 2 | 60 | 50 | 1,000 |\n"
    + "| a: NCE | SEAL-dynamic | 1.00 M | 0.50 M | 7 | 60 | 30 | 500 |\n"
    + "| b: NCE | SEAL-dynamic | 1.00 M | 0.50 M | 8 | 60 | 30 | 500 |\n"
    + "| a: failed | SEAL-dynamic | – | – | – | – | – | – |\n\n"
    + "| a: DVN | 3 | 1 | 1 | 1 | 1 | 1 | 1 |\n"
)


def test_rows_of_a_page():
    rows = list(trainings(PAGE, "one.md"))
    assert [(row.dataset, row.method) for row in rows] == [("a", "cross-entropy"), ("a", "NCE"), ("b", "NCE")]
    assert rows[1][4:] == (1.0, 0.5, 7.0, 500.0) and {row.family for row in rows} == {"multilabel"}
    assert not list(trainings("| method | seconds an epoch |\n| :-- | --: |\n| NCE | 3 |\n", "two.md"))


def test_ratios_are_to_the_same_page_and_data_set():
    slower = PAGE.replace("| 7 |", "| 11 |")
    found = ratios([*trainings(PAGE, "one.md"), *trainings(slower, "two.md")])
    assert found == {("multilabel", "NCE"): [("a", (2.0, 1.0, 3.5, 0.5)), ("a", (2.0, 1.0, 5.5, 0.5))]}
    made = page([*trainings(PAGE, "one.md"), *trainings(slower, "two.md")])
    assert "| NCE | 1 | 2.00 | 1.00 | 4.50 | 3.5 to 5.5 | 0.50 |" in made
    assert made.count("\n## ") == 1


@pytest.mark.parametrize("cell, value", [("1.04e+03", 1040), ("23,591", 23591), ("0.96 M", 0.96), ("–", None)])
def test_numbers(cell, value):
    assert number(cell) == value
