"""The Markdown page of a folder of runs."""

from collections.abc import Sequence

import pandas

from scripts.measure import family_tables
from scripts.measure.cells import (
    LEVEL,
    MARK,
    markdown_table,
    mean_and_deviation,
    mean_gain,
    present_methods,
    split_table,
)
from scripts.measure.results import Comparisons, Failure
from scripts.measure.significance import RESAMPLES
from scripts.measure.suite import Family, Suite


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


def training_table(suite: Suite, table: pandas.DataFrame) -> str:
    rows = []
    for method in present_methods(suite, table):
        values = table[(table["method"] == method) & (table["split"] == "train")]
        by_metric = {name: values.loc[values["metric"] == name, "value"] for name in values["metric"].unique()}
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
    suites: dict[str, Suite],
    table: pandas.DataFrame,
    comparisons: dict[str, Comparisons],
    failed: list[Failure],
    facts: dict[str, str],
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
        parts.append("\n".join(f"- {item.suite}, {item.method}, seed {item.seed}: {item.error}" for item in failed))
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
