"""
Scores a trained run on texts with labels: the metrics of a split, and the counts of each text, for tests of
significance.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas

from scripts.measure.suite import Scores
from scripts.measure.trained_run import TrainedRun, score_splits

KEY = ("source",)
"""A text is named by its file and line."""


def score_split(run: TrainedRun, path: str) -> tuple[Scores, float]:
    """The scores, and the seconds of predicting and scoring."""
    from seal.metrics import example_f1

    empty_f1 = run.settings["model"].get("empty_f1", 1.0)

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Iterator[dict[str, Any]]:
        gold = batch["labels"].bool()
        columns = {"gold": gold.sum(dim=1)}
        for suffix, threshold in {"": 0.5, "_tuned": run.model.tuned_threshold}.items():
            predicted = output["probabilities"] >= threshold
            columns[f"f1{suffix}"] = example_f1(predicted, gold, empty_f1)
            columns[f"predicted{suffix}"] = predicted.sum(dim=1)
            columns[f"correct{suffix}"] = (predicted & gold).sum(dim=1)
        values = zip(*(column.tolist() for column in columns.values()))
        for meta, row in zip(batch["metadata"], values):
            yield {"source": meta["source"], **dict(zip(columns, row)), "rows": 1}

    rows, metrics, seconds = run.pass_over(path, see)
    examples = pandas.DataFrame(rows).sort_values(list(KEY), kind="stable", ignore_index=True)
    return Scores(metrics, examples), seconds


score = partial(score_splits, score_split)
"""Scores a run's best model on each split: at 0.5, and at the threshold that its training tuned on dev."""
