"""
Scores a trained segmentation run: the metrics of a split, and the IoU and pixels of each image, for tests of
significance.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas

from scripts.measure.suite import Scores
from scripts.measure.trained_run import TrainedRun, score_splits

KEY = ("row",)
"""An image is named by its number in the split, from 0; files are read in order."""


def score_split(run: TrainedRun, path: str) -> tuple[Scores, float]:
    """The scores, and the seconds of predicting and scoring, reading the file left out."""
    from seal.metrics.mask_score import image_iou, overlap_of

    empty_iou = run.settings["model"].get("empty_iou", 1.0)

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Iterator[dict[str, Any]]:
        intersection, union = overlap_of(output["predicted"], batch["mask"].bool())
        columns = {"iou": image_iou(intersection, union, empty_iou), "intersection": intersection, "union": union}
        for row in zip(*(column.tolist() for column in columns.values())):
            yield {**dict(zip(columns, row)), "images": 1}

    rows, metrics, seconds = run.pass_over(path, see)
    examples = pandas.DataFrame(rows)
    examples.insert(0, "row", range(len(examples)))
    return Scores(metrics, examples), seconds


score = partial(score_splits, score_split)
