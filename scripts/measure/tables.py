"""The Markdown page of a folder of runs."""

from typing import Dict, List, Sequence

import pandas

from scripts.measure.results import Comparisons, Failure, seeds_of
from scripts.measure.significance import RESAMPLES
from scripts.measure.suite import Family, Suite

MARK = "†"
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


def present_methods(suite: Suite, table: pandas.DataFrame) -> List[str]:
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


def comparison_table(suite: Suite, table: pandas.DataFrame, comparisons: Comparisons, split: str) -> str:
    """The methods' gains over the baseline on the seeds that both have, and p; empty if nothing was compared."""
    header = ["method"]
    for metric in suite.statistics:
        header += [f"{suite.metrics[metric]} difference", "p"]
    rows = []
    for method in present_methods(suite, table):
        if (split, method, next(iter(suite.statistics))) not in comparisons:
            continue
        cells = [suite.methods[method].title]
        for metric in suite.statistics:
            gain = mean_gain(suite, table, method, split, metric)
            p_value = comparisons[split, method, metric].p_value
            cells += [f"{gain:+.2f}{' ' + MARK if p_value < LEVEL else ''}", f"{p_value:.4f}"]
        rows.append(cells)
    return markdown_table(header, rows) if rows else ""


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


def training_table(suite: Suite, table: pandas.DataFrame) -> str:
    rows = []
    for method in present_methods(suite, table):
        values = table[(table["method"] == method) & (table["split"] == "train")]
        by_metric = {
            name: values.loc[values["metric"] == name, "value"] for name in values["metric"].unique()
        }
        rows.append(
            [
                suite.methods[method].title,
                mean_and_deviation(by_metric["seconds_per_epoch"], 1),
                f"{by_metric['epochs'].mean():.3g}",
                f"{by_metric['best_epoch'].mean():.3g}",
                f"{by_metric['parameters'].mean() / 1e6:.2f} M",
            ]
        )
    return markdown_table(["method", "seconds an epoch", "epochs", "best epoch", "parameters"], rows)


def page(
    suites: Dict[str, Suite],
    table: pandas.DataFrame,
    comparisons: Dict[str, Comparisons],
    failed: List[Failure],
    facts: Dict[str, str],
    label: str = "",
    families: Sequence[Family] = (),
    warnings: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> str:
    """
    The text of the page.

    # Parameters

    comparisons : by suite.
    facts : what the numbers were measured on, a line each.
    warnings : sentences to be read before the numbers.
    settings : the settings that the runs were given, a line each.
    """
    from scripts.measure import family_tables  # Not above: it takes its cells from this module.

    parts = [f"# {label or 'Results'}", "\n".join(f"- {name}: {fact}" for name, fact in facts.items())]
    if warnings:
        parts += ["## Beware", "\n".join(f"- {sentence}" for sentence in warnings)]
    if settings:
        parts += ["## How it was trained", "\n".join(f"- {line}" for line in settings)]
    for name, suite in suites.items():
        ours = table[table["suite"] == name]
        if ours.empty or suite.family is not None:
            continue
        paths = suite.data()
        data = {split: paths[split] for split in ("train", suite.validation, "test") if paths.get(split)}
        parts.append(f"## {name}: {suite.title}")
        parts.append(
            "Data: "
            + ", ".join(f"{split} `{path}`" for split, path in data.items())
            + ". Seeds: "
            + ", ".join(map(str, sorted(ours["seed"].unique())))
            + ". Mean ± sample deviation over seeds."
        )
        for split in (split for split in data if split in set(ours["split"]) - {"train"}):
            parts += [f"### {split}", split_table(suite, ours, split)]
            compared = comparison_table(suite, ours, comparisons.get(name, {}), split)
            if compared:
                baseline = suite.methods[suite.baseline].title
                parts += [f"Against {baseline}, with the same seeds:", compared]
        parts += ["### Training", training_table(suite, ours)]
    for family in families:
        parts += family_tables.sections(family, suites, table, comparisons)
    if failed:
        parts.append("## Failed runs")
        parts.append(
            "\n".join(f"- {item.suite}, {item.method}, seed {item.seed}: {item.error}" for item in failed)
        )
    notes = NOTES.format(mark=MARK, level=LEVEL, resamples=RESAMPLES)
    if "micro_f1_tuned" in set(table["metric"]):
        notes += TUNED
    parts += ["## How to read this", notes]
    return "\n\n".join(parts) + "\n"


NOTES = """\
- How it was trained: with the defaults of `training_configs/lib` for all that is not named there.
- The epoch with the best score on dev (or valid) is the one that is measured; dev was seen in choosing it.
- p: paired bootstrap over the examples of the split, {resamples} draws, two-sided, the counts of all seeds
  pooled; it speaks of other examples like these, not of other seeds. {mark}: p < {level}, not corrected for
  the number of comparisons. A table over several data sets has the mark at the scores it is about.
- Seconds an epoch: the median over a run's epochs, training with validation. Best epoch counts from 1.
  Parameters are those that are trained, a loss-net's among them; only a model that predicts by
  gradient-based inference needs that for prediction. Examples a second: predicting and scoring."""
TUNED = """
- Tuned: F1, micro and macro F1 are all at one threshold, found on dev (or valid) for the metric that the run's
  `tune_thresholds` names: example F1 unless it names another."""
