"""
Scores a trained multi-label run: the metrics of a split, and the F1 of each row, for tests of significance.
"""

from functools import partial
from typing import Any

import pandas

from scripts.measure.suite import Scores
from scripts.measure.trained_run import TrainedRun, score_splits

KEY = ("row",)
"""A row is named by its number in the split, from 0; files are read in order."""


def score_split(run: TrainedRun, path: str) -> tuple[Scores, float]:
    """The scores, and the seconds of predicting and scoring, reading the file left out."""
    import torch

    from seal.metrics import example_f1

    empty_f1 = run.settings["model"].get("empty_f1", 1.0)

    def see(batch: dict[str, Any], output: dict[str, Any]) -> list[dict[str, Any]]:
        probabilities, gold = output["probabilities"], batch["labels"].bool()
        columns = {"f1": 0.5, "f1_tuned": run.model.tuned_threshold}
        return [
            {name: example_f1(probabilities >= threshold, gold, empty_f1).cpu() for name, threshold in columns.items()}
        ]

    parts, metrics, seconds = run.pass_over(path, see)
    columns = {name: torch.cat([part[name] for part in parts]).numpy() for name in parts[0]}
    examples = pandas.DataFrame({"row": range(len(columns["f1"])), **columns, "rows": 1})
    return Scores(metrics, examples), seconds


score = partial(score_splits, score_split)
"""
Scores a run's best model on each split: at 0.5, and at the thresholds that its training tuned on the validation data,
which are part of the weights.
"""
