"""
Scores a trained parser: the metrics of a split, and the counts of each tree, for tests of significance.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas

from scripts.measure.suite import Scores
from scripts.measure.trained_run import TrainedRun, score_splits

KEY = ("source",)
"""A tree is named by its file and line."""


def score_split(run: TrainedRun, path: str) -> tuple[Scores, float]:
    """The scores, and the seconds of predicting and scoring."""
    from seal.metrics import bracket_counts

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Iterator[dict[str, Any]]:
        predicted = run.model.make_output_human_readable(output)["symbols"]
        for symbols, meta in zip(predicted, batch["metadata"]):
            yield {"source": meta["source"], **bracket_counts(symbols, meta["symbols"], meta["tags"]).sums()}

    rows, metrics, seconds = run.pass_over(path, see)
    examples = pandas.DataFrame(rows).sort_values(list(KEY), kind="stable", ignore_index=True)
    return Scores(metrics, examples), seconds


score = partial(score_splits, score_split)
