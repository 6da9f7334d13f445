"""
Scores a trained multi-label run: the metrics of a split, and the F1 of each row, for tests of significance.
"""

from pathlib import Path
from typing import Any, Dict, List, Tuple

import pandas

from scripts.measure.suite import Scores
from scripts.measure.trained_run import TrainedRun

KEY = ("row",)
"""A row by its number in the split, from 0: files are read in their order."""


def score(
    folder: Path, splits: Dict[str, str], packages: Tuple[str, ...] = ("seal",)
) -> Tuple[Dict[str, Scores], Dict[str, float]]:
    """
    The best model of a run, in one pass over each split: at 0.5, and at the thresholds that its training
    tuned on the validation data, which are part of the weights.
    """
    run = TrainedRun(folder, packages)
    scores, rows, seconds = {}, 0, 0.0
    for split, path in splits.items():
        scores[split], elapsed = score_split(run, path)
        rows, seconds = rows + len(scores[split].examples), seconds + elapsed
    return scores, {**run.facts(), "examples_per_second": rows / seconds}


def score_split(run: TrainedRun, path: str) -> Tuple[Scores, float]:
    """The scores, and the seconds of predicting and scoring, reading the file left out."""
    import torch

    empty_f1 = run.settings["model"].get("empty_f1", 1.0)

    def see(batch: Dict[str, Any], output: Dict[str, Any]) -> List[Dict[str, Any]]:
        probabilities, gold = output["probabilities"], batch["labels"].bool()
        columns = {"f1": 0.5, "f1_tuned": run.model.tuned_threshold}
        return [
            {
                name: example_f1(probabilities >= threshold, gold, empty_f1).cpu()
                for name, threshold in columns.items()
            }
        ]

    parts, metrics, seconds = run.pass_over(path, see)
    columns = {name: torch.cat([part[name] for part in parts]).numpy() for name in parts[0]}
    examples = pandas.DataFrame({"row": range(len(columns["f1"])), **columns, "rows": 1})
    return Scores(metrics, examples), seconds


def example_f1(predicted: Any, gold: Any, empty_f1: float) -> Any:
    """`(rows,)`, 0 to 1: `2 correct / (predicted + gold)`, and `empty_f1` where there is neither."""
    sizes = (predicted.sum(dim=1) + gold.sum(dim=1)).double()
    f1 = 2 * (predicted & gold).sum(dim=1) / sizes.clamp(min=1)
    return f1.masked_fill(sizes == 0, empty_f1)

