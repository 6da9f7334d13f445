"""The cells of a page's tables, and what more than one of its parts shows."""

from collections.abc import Sequence

import pandas

from scripts.measure.results import seeds_of
from scripts.measure.suite import Suite

MARK = "†"
"""Stands at a score whose difference from the baseline has p below `LEVEL`."""
LEVEL = 0.05


def mean_and_deviation(values: Sequence[float], digits: int = 2, sign: bool = False) -> str:
    """
    `mean ± sample deviation`; the mean alone where there is one value, a dash where there is none. With `sign`, a
    positive mean has a plus sign.
    """
    series = pandas.Series(list(values), dtype=float)
    if series.empty:
        return "–"
    mean = f"{series.mean():{'+' if sign else ''}.{digits}f}"
    return mean if len(series) == 1 else f"{mean} ± {series.std(ddof=1):.{digits}f}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; its first column is text, the others are numbers."""
    lines = [header, [":--"] + ["--:"] * (len(header) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def present_methods(suite: Suite, table: pandas.DataFrame) -> list[str]:
    """The methods that have a result, in the suite's order."""
    found = set(table["method"])
    return [name for name in suite.methods if name in found]


def split_table(suite: Suite, table: pandas.DataFrame, split: str) -> str:
    """A row for each method, a column for each metric: mean and deviation over seeds."""
    rows = []
    for method in present_methods(suite, table):
        ours = table[(table["method"] == method) & (table["split"] == split)]
        cells = [suite.methods[method].title, str(len(seeds_of(table, method)))]
        for metric in suite.metrics:
            values = ours.loc[ours["metric"] == metric, "value"]
            cells.append(mean_and_deviation(values, 1 if metric == "duplicates" else 2))
        rows.append(cells)
    return markdown_table(["method", "seeds", *suite.metrics.values()], rows)


def mean_gain(suite: Suite, table: pandas.DataFrame, method: str, split: str, metric: str) -> float:
    """The mean over seeds of the method's value less the baseline's with the same seed."""
    chosen = table[(table["split"] == split) & (table["metric"] == metric)]
    return float(gains(chosen, suite.baseline, method).mean())


def gains(table: pandas.DataFrame, before: str, after: str) -> pandas.Series:
    """
    How far `after` scores above `before`, for each seed that both have; `table` holds one data set, split and metric.
    """
    wide = table.pivot(index="seed", columns="method", values="value")
    if not {before, after} <= set(wide.columns):
        return pandas.Series(dtype=float)
    return (wide[after] - wide[before]).dropna()
