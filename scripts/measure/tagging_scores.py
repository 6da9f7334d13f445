"""
Scores a trained tagger: the metrics of a split, and the counts of each sentence, for tests of significance.
"""

from functools import partial
from typing import Any, Dict, Iterator, Tuple

import pandas

from scripts.measure.suite import Scores
from scripts.measure.trained_run import TrainedRun, score_splits

KEY = ("source",)
"""A sentence is named by its file and line."""


def score_split(run: TrainedRun, path: str) -> Tuple[Scores, float]:
    """The scores, and the seconds of predicting and scoring."""
    from seal.common.tag_encodings import tags_to_spans

    def see(batch: Dict[str, Any], output: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
        predicted = run.model.make_output_human_readable(output)["tags"]
        for ours, meta in zip(predicted, batch["metadata"]):
            gold = meta["tags"]
            row = {
                "source": meta["source"],
                "right": sum(one == other for one, other in zip(ours, gold)),
                "tokens": len(gold),
                "exact": int(list(ours) == list(gold)),
                "sentence": 1,
            }
            if run.model.has_spans:
                found, wanted = set(tags_to_spans(ours)), set(tags_to_spans(gold))
                row.update(correct=len(found & wanted), predicted=len(found), gold=len(wanted))
            yield row

    rows, metrics, seconds = run.pass_over(path, see)
    examples = pandas.DataFrame(rows).sort_values(list(KEY), kind="stable", ignore_index=True)
    return Scores(metrics, examples), seconds


score = partial(score_splits, score_split)
