"""Make docs/results/training_costs.md: what each method that was measured costs, over cross-entropy."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple, Optional

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from scripts.measure.cells import markdown_table
from scripts.measure.files import write_text
from scripts.measure.suite import all_families

PAGES = ROOT / "docs" / "results"
BASELINES = ("cross-entropy", "FCN, cross-entropy")
# The header of the table of trainings of a page of a family.
HEADER = "| data set: method | group | parameters trained | at prediction | seconds an epoch |"
HEADS = (
    "method",
    "data sets",
    "parameters trained",
    "at prediction",
    "epoch",
    "epoch, all pages",
    "examples a second at prediction",
)
INTRODUCTION = """\
# What a training costs, by method

Each number is a ratio to cross-entropy on the same data set and page of measurements, so on one machine, which had
other work too: the parameters that are trained and those that prediction needs; the wall-clock time of an epoch, median
over data sets and pages, and the least and the most, since pages differ in the updates of a batch; and the examples
predicted and scored in a second. Each page has the numbers themselves, under *Training*.

This page is made by `python scripts/upkeep/training_costs.py`."""


class Training(NamedTuple):
    """A row of a page's table of trainings."""

    page: str
    family: str
    dataset: str
    method: str
    parameters: float
    at_prediction: float
    seconds: float
    examples: float


def number(cell: str) -> Optional[float]:
    """The number at the beginning of a cell, or `None`."""
    found = re.match(r"[\d,.]+(?:e[+-]?\d+)?", cell.strip())
    return float(found[0].replace(",", "")) if found else None


def trainings(text: str, page: str) -> Iterator[Training]:
    """The rows of a page of a family; none of a page of another kind."""
    family = ""
    inside = False
    for line in text.splitlines():
        heading = re.match(r"## (\w+): ", line)
        family = heading[1] if heading else family
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith(HEADER):
            inside = True
        elif inside and line.startswith("| :"):
            continue
        elif inside and line.startswith("| "):
            dataset, _, method = cells[0].partition(": ")
            values = [number(cells[place]) for place in (2, 3, 4, 7)]
            if None not in values:
                yield Training(page, family, dataset, method, *map(float, values))  # type: ignore[arg-type]
        else:
            inside = False


def ratios(found: list[Training]) -> dict[tuple[str, str], list[tuple[str, tuple[float, ...]]]]:
    """By family and method: the data set and the four ratios of each row beside which its page has the baseline."""
    baselines = {(row.page, row.dataset): row for row in found if row.method in BASELINES}
    result = defaultdict(list)
    for row in found:
        base = baselines.get((row.page, row.dataset))
        if base is not None and row.method not in BASELINES:
            compared = tuple(mine / theirs for mine, theirs in zip(row[4:], base[4:]))
            result[row.family, row.method].append((row.dataset, compared))
    return result


def page(found: list[Training]) -> str:
    parts = [INTRODUCTION]
    by_method = ratios(found)
    for name, family in all_families().items():
        rows = []
        for (of, method), compared in by_method.items():
            if of != name:
                continue
            columns = list(zip(*(values for _, values in compared)))
            parameters, at_prediction, seconds, examples = (f"{median(column):.2f}" for column in columns)
            every = f"{min(columns[2]):.1f} to {max(columns[2]):.1f}"
            datasets = len({dataset for dataset, _ in compared})
            rows.append([method, str(datasets), parameters, at_prediction, seconds, every, examples])
        if rows:
            parts.append(f"## {family.title}\n\n{markdown_table(HEADS, sorted(rows))}")
    return "\n\n".join(parts).rstrip() + "\n"


def main() -> None:
    out = PAGES / "training_costs.md"
    pages = sorted(path for path in PAGES.glob("*.md") if path != out)
    write_text(out, page([row for path in pages for row in trainings(path.read_text(encoding="utf-8"), path.name)]))
    print(out.relative_to(ROOT))


if __name__ == "__main__":
    main()
