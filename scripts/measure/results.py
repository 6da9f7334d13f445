"""The results of every finished run below a folder, and the comparisons between them."""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple

import pandas

from scripts.measure.files import read_json, replacing
from scripts.measure.runs import run_name
from scripts.measure.significance import Comparison, paired_bootstrap, pooled
from scripts.measure.suite import Suite

COLUMNS = ["suite", "dataset", "method", "seed", "split", "metric", "value"]

Comparisons = Dict[Tuple[str, str, str], Comparison]
"""By split, method and metric."""


class Failure(NamedTuple):
    suite: str
    method: str
    seed: int
    error: str


def collect(out: Path) -> pandas.DataFrame:
    """A row a number, of all runs of `out` that have ended well."""
    rows: List[Dict[str, Any]] = []
    for path in sorted((out / "runs").glob("*/result.json")):
        result = read_json(path)
        metrics = result.pop("metrics")
        for split, values in metrics.items():
            rows += [
                {**result, "split": split, "metric": name, "value": value} for name, value in values.items()
            ]
    table = pandas.DataFrame(rows, columns=COLUMNS)
    return table.sort_values(["suite", "method", "seed"], kind="stable", ignore_index=True)


def failures(out: Path) -> List[Failure]:
    """The runs of `out` that ended in an error and have not been run again since."""
    found = [read_json(path) for path in sorted((out / "runs").glob("*/failed.json"))]
    return [Failure(item["suite"], item["method"], item["seed"], item["error"]) for item in found]


def write_csv(table: pandas.DataFrame, path: Path) -> None:
    with replacing(path) as draft:
        table.to_csv(draft, index=False)


def seeds_of(table: pandas.DataFrame, method: str) -> List[int]:
    return sorted(table.loc[table["method"] == method, "seed"].unique().tolist())


def compare(out: Path, suite: Suite, table: pandas.DataFrame) -> Comparisons:
    """
    Every method against the baseline, over the seeds that both have; `table` holds this suite's rows alone.
    """
    comparisons: Comparisons = {}
    base_seeds = seeds_of(table, suite.baseline)
    for split in (split for split in table["split"].unique() if split != "train"):
        for method in table["method"].unique():
            seeds = [seed for seed in seeds_of(table, method) if seed in base_seeds]
            if method == suite.baseline or not seeds:
                continue
            base, ours = (_pooled(out, suite, name, seeds, split) for name in (suite.baseline, method))
            for metric, statistic in suite.statistics.items():
                comparisons[split, method, metric] = paired_bootstrap(base, ours, statistic)
    return comparisons


def _pooled(out: Path, suite: Suite, method: str, seeds: List[int], split: str) -> pandas.DataFrame:
    folders = {seed: out / "runs" / run_name(suite.name, method, seed) for seed in seeds}
    frames = {seed: pandas.read_csv(folder / f"frames_{split}.csv.gz") for seed, folder in folders.items()}
    return pooled(frames, suite.key)
