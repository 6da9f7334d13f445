"""
Scores a trained SRL run: the metrics of a split, and the counts of each frame, for tests of significance.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas

from scripts.measure.suite import Scores
from scripts.measure.trained_run import TrainedRun

KEY = ("source", "predicate", "nth")
"""
A frame is named by the file and line of its sentence, its predicate's index, and its number among that word's frames.
"""


def score(
    folder: Path, splits: dict[str, str], packages: tuple[str, ...] = ("seal",)
) -> tuple[dict[str, Scores], dict[str, float]]:
    """
    Scores a run's best model on each split. The model is one of ours, or one whose readable `tags` are BIO tags of
    words and whose instances' metadata have `predicate`, `tags`, `words` and `source`.
    """
    run = TrainedRun(folder, packages)
    return {split: score_split(run, path) for split, path in splits.items()}, run.facts()


def score_split(run: TrainedRun, path: str) -> Scores:
    from seal.metrics.srl_score import frame_counts

    seen: Counter = Counter()

    def see(batch: dict[str, Any], output: dict[str, Any]) -> Iterator[dict[str, Any]]:
        tags = run.model.make_output_human_readable(output)["tags"]
        for predicted, meta in zip(tags, batch["metadata"]):
            if meta["predicate"] is None:
                continue
            counts = frame_counts(predicted[: len(meta["words"])], meta["tags"])
            frame = (meta["source"], meta["predicate"])
            yield {
                "source": meta["source"],
                "predicate": meta["predicate"],
                "nth": seen[frame],
                **counts.sums(),
                "frame": 1,
            }
            seen[frame] += 1

    rows, metrics, _ = run.pass_over(path, see)
    examples = pandas.DataFrame(rows).sort_values(list(KEY), kind="stable", ignore_index=True)
    return Scores(metrics, examples)
