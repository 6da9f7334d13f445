"""The part of the page that has a family of suites: the same methods on several data sets."""

import pandas

from scripts.measure.cells import (
    LEVEL,
    MARK,
    gains,
    markdown_table,
    mean_and_deviation,
    mean_gain,
    present_methods,
    split_table,
)
from scripts.measure.results import Comparisons
from scripts.measure.suite import Family, Suite


def sections(
    family: Family, suites: dict[str, Suite], table: pandas.DataFrame, comparisons: dict[str, Comparisons]
) -> list[str]:
    """The sections of the page about the family; none if no run of the family has a result."""
    present = present_suites(family, suites, table)
    if not present:
        return []
    ours = rows_of(present, table)
    seeds = ", ".join(map(str, sorted(ours["seed"].unique())))
    parts = [f"## {family.name}: {family.title}", f"Seeds: {seeds}. Mean ± sample deviation over seeds."]
    found = set(ours["split"])
    # A data set may lack a split that another has.
    splits = dict.fromkeys(split for suite in present.values() for split in suite.splits() if split in found)
    for split in splits:
        measured = set(ours.loc[ours["split"] == split, "metric"])
        for metric, heading in ((name, heading) for name, heading in family.headline.items() if name in measured):
            parts += [f"### {split}: {heading}", _scores(family, present, ours, comparisons, split, metric)]
            chosen = ours[(ours["split"] == split) & (ours["metric"] == metric)]
            steps = _steps(family, present, chosen)
            parts += [f"#### {split}: {heading}, after less before", steps] if steps else []
    parts += ["### Training", _training(present, ours)]
    for dataset, suite in present.items():
        rows = ours[ours["suite"] == suite.name]
        for split in (split for split in splits if split in set(rows["split"])):
            heading = f"### All scores: {dataset}, {split} `{suite.data()[split]}`"
            parts += [heading, split_table(suite, rows[rows["split"] == split], split)]
    return parts


def present_suites(family: Family, suites: dict[str, Suite], table: pandas.DataFrame) -> dict[str, Suite]:
    """The suites of the family that have a result, by data set."""
    found = set(table["suite"])
    return {dataset: suite for dataset, suite in family.suites(suites).items() if suite.name in found}


def rows_of(present: dict[str, Suite], table: pandas.DataFrame) -> pandas.DataFrame:
    """
    The rows of the suites, without metrics that are headlines of other data sets alone: where tags are not spans, a
    model's `f1` is its accuracy.
    """
    named = {(suite.name, metric) for suite in present.values() for metric in suite.metrics}
    suites = {suite.name for suite in present.values()}
    return table[
        [
            suite in suites and (split == "train" or (suite, metric) in named)
            for suite, split, metric in zip(table["suite"], table["split"], table["metric"])
        ]
    ]


def _scores(
    family: Family,
    present: dict[str, Suite],
    table: pandas.DataFrame,
    comparisons: dict[str, Comparisons],
    split: str,
    metric: str,
) -> str:
    """
    A row for each method, a column for each data set, and a column of the mean gain over the baseline. The mean is
    over the data sets on which every method of the table was measured: only then can the methods' means be compared.
    Where the family has a data set `apart`, a further column has the mean without it.
    """
    chosen = table[(table["split"] == split) & (table["metric"] == metric)]
    some = next(iter(present.values()))
    methods = present_methods(some, chosen)
    sets = [dataset for dataset, suite in present.items() if (chosen["suite"] == suite.name).any()]
    shared = [name for name in sets if set(methods) <= set(chosen.loc[chosen["dataset"] == name, "method"])]
    head = "mean gain" if shared == sets else f"mean gain ({', '.join(shared) or 'no data set has all'})"
    means = {head: shared}
    if family.apart in shared and len(shared) > 1:
        means[f"without {family.apart}"] = [name for name in shared if name != family.apart]
    rows: list[list[str]] = []
    group = ""
    for method in methods:
        if some.methods[method].group != group:
            group = some.methods[method].group
            rows.append([f"**{group}**"] + [""] * (len(sets) + len(means)))
        cells = [some.methods[method].title]
        for dataset in sets:
            ours = chosen[(chosen["dataset"] == dataset) & (chosen["method"] == method)]
            comparison = comparisons.get(present[dataset].name, {}).get((split, method, metric))
            mark = f" {MARK}" if comparison is not None and comparison.p_value < LEVEL else ""
            cells.append(mean_and_deviation(ours["value"]) + mark)
        compared = some.baseline in methods and method != some.baseline
        for names in means.values():
            of_sets = [
                mean_gain(present[name], chosen[chosen["dataset"] == name], method, split, metric)
                for name in (names if compared else ())
            ]
            cells.append(_mean(of_sets))
        rows.append(cells)
    return markdown_table(["method", *sets, *means], rows)


def _mean(of_sets: list[float]) -> str:
    """The mean of gains on data sets; a dash without any, or if one is missing for want of a seed in common."""
    values = pandas.Series(of_sets, dtype=float)
    return "–" if values.empty or values.isna().any() else f"{values.mean():+.2f}"


def _steps(family: Family, present: dict[str, Suite], chosen: pandas.DataFrame) -> str:
    """
    A row for each pair of methods that differ in one thing, a column for each data set; empty if no pair was measured.
    """
    some = next(iter(present.values()))
    rows: list[list[str]] = []
    for change, pairs in family.steps.items():
        below = []
        for before, after in pairs:
            found = [gains(chosen[chosen["dataset"] == dataset], before, after) for dataset in present]
            if not all(differences.empty for differences in found):
                name = f"{some.methods[before].title} → {some.methods[after].title}"
                below.append([name, *(mean_and_deviation(differences, sign=True) for differences in found)])
        if below:
            rows += [[f"**{change}**"] + [""] * len(present), *below]
    return markdown_table(["before → after, same seeds", *present], rows) if rows else ""


def _training(present: dict[str, Suite], table: pandas.DataFrame) -> str:
    rows = []
    for dataset, suite in present.items():
        ours = table[(table["suite"] == suite.name) & (table["split"] == "train")]
        for method in present_methods(suite, ours):
            values = ours[ours["method"] == method].groupby("metric")["value"]
            mean, median = values.mean(), values.median()
            rows.append(
                [
                    f"{dataset}: {suite.methods[method].title}",
                    suite.methods[method].group,
                    f"{mean['parameters'] / 1e6:.2f} M",
                    f"{mean['prediction_parameters'] / 1e6:.2f} M",
                    f"{median['seconds_per_epoch']:.3g}",
                    f"{mean['epochs']:.3g}",
                    f"{mean['best_epoch']:.3g}",
                    f"{median['examples_per_second']:,.0f}",
                ]
            )
    header = ["data set: method", "group", "parameters trained", "at prediction", "seconds an epoch"]
    return markdown_table([*header, "epochs", "best epoch", "examples a second"], rows)
