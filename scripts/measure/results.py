"""The results of every finished run below a folder, and the comparisons between them."""

from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

import pandas

from scripts.measure.files import atomic_write, read_json
from scripts.measure.runs import run_name
from scripts.measure.significance import Comparison, UnlikeExamples, paired_bootstrap, pooled
from scripts.measure.suite import Suite

COLUMNS = ["suite", "dataset", "method", "seed", "split", "metric", "value"]

Comparisons = dict[tuple[str, str, str], Comparison]
"""By split, method and metric."""


class Failure(NamedTuple):
    suite: str
    method: str
    seed: int
    error: str


def finished(out: Path) -> list[Path]:
    """The folders of the runs of `out` that were scored, on one split at least."""
    return sorted(path.parent for path in (out / "runs").glob("*/result.json"))


def collect(out: Path) -> pandas.DataFrame:
    """A table with a row for each number that was measured, of all runs of `out` that were scored."""
    rows: list[dict[str, Any]] = []
    for folder in finished(out):
        result = read_json(folder / "result.json")
        metrics = result.pop("metrics")
        for split, values in metrics.items():
            rows += [{**result, "split": split, "metric": name, "value": value} for name, value in values.items()]
    table = pandas.DataFrame(rows, columns=COLUMNS)
    return table.sort_values(["suite", "method", "seed"], kind="stable", ignore_index=True)


def failures(out: Path) -> list[Failure]:
    """The runs of `out` that ended in an error and have not been run again since."""
    found = []
    for path in sorted((out / "runs").glob("*/failed.json")):
        # Another process removes the file when it begins the run again.
        with suppress(FileNotFoundError):
            found.append(read_json(path))
    return [Failure(item["suite"], item["method"], item["seed"], item["error"]) for item in found]


def with_data(out: Path, suite: Suite) -> Suite:
    """The suite with the training and validation data of the runs of `out`, whose configs may name other files."""
    return replace(suite, data=cache(partial(_data_of_runs, out, suite)))


def _data_of_runs(out: Path, suite: Suite) -> dict[str, Optional[str]]:
    data = dict(suite.data())
    paths = [folder / "model" / "config.json" for folder in finished(out) if folder.name.startswith(f"{suite.name}-")]
    configs = [read_json(path) for path in paths if path.is_file()]
    for split, key in (("train", "train_data_path"), (suite.validation, "validation_data_path")):
        used = dict.fromkeys(config[key] for config in configs)
        # The page will put a pair of backquotes around the whole.
        data[split] = "`, `".join(used) or data[split]
    return data


def write_csv(table: pandas.DataFrame, path: Path) -> None:
    with atomic_write(path) as draft:
        table.to_csv(draft, index=False)


def seeds_of(table: pandas.DataFrame, method: str) -> list[int]:
    return sorted(table.loc[table["method"] == method, "seed"].unique().tolist())


def compare(out: Path, suite: Suite, table: pandas.DataFrame) -> tuple[Comparisons, list[str]]:
    """
    The comparisons of every method with the baseline, over the seeds that both have, and a sentence for each method
    that cannot be compared; `table` holds this suite's rows alone.
    """
    comparisons: Comparisons = {}
    unlike: list[str] = []
    for split in (split for split in table["split"].unique() if split != "train"):
        # Not every run need have been scored on every split.
        scored = table[table["split"] == split]
        base_seeds = seeds_of(scored, suite.baseline)
        for method in scored["method"].unique():
            seeds = [seed for seed in seeds_of(scored, method) if seed in base_seeds]
            if method == suite.baseline or not seeds:
                continue
            paths = [_paths(out, suite, name, seeds, split) for name in (suite.baseline, method)]
            # The page is written after each run, and most files are still the same then: known results are kept.
            key = tuple((str(path), path.stat().st_mtime_ns) for path in [*paths[0], *paths[1]])
            if key not in _known:
                try:
                    base, ours = (_pooled(found, suite.key) for found in paths)
                    _known[key] = {
                        metric: paired_bootstrap(base, ours, suite.key, statistic)
                        for metric, statistic in suite.statistics.items()
                    }
                except UnlikeExamples as error:
                    _known[key] = str(error)
            found = _known[key]
            if isinstance(found, str):
                told = f"{method} is not tested against {suite.baseline}: {found}"
                unlike.append(f"{suite.name}, {split}: {told}.")
                continue
            for metric, comparison in found.items():
                comparisons[split, method, metric] = comparison
    return comparisons, unlike


_known: dict[Any, Union[dict[str, Comparison], str]] = {}


def _paths(out: Path, suite: Suite, method: str, seeds: list[int], split: str) -> list[Path]:
    folders = [out / "runs" / run_name(suite.name, method, seed) for seed in seeds]
    return [folder / f"frames_{split}.csv.gz" for folder in folders]


def _pooled(paths: list[Path], key: tuple[str, ...]) -> pandas.DataFrame:
    return pooled({index: pandas.read_csv(path) for index, path in enumerate(paths)}, key)
