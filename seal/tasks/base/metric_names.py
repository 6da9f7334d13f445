"""Selects the metrics that measure the predicted output, by their names."""

import re
from collections.abc import Iterable

# The scores of an output, optionally with the name of a label or constraint: `f1-PER`, `violations_once`.
_OF_OUTPUT = re.compile(
    r"(micro_|macro_|predicate_)?f1(_all)?(-.*)?|precision|recall|accuracy|exact_match|subset_accuracy|ucr|duplicates|"
    r"(mean|global)_iou|pixel_accuracy|violations_.*"
)
#: The suffixes of the scores of other outputs than the predicted one, with a description of the output.
OTHER_OUTPUTS = {
    "_own": "the task-net's own output",
    "_decided": "labels that are chosen for this score (model.score)",
    "_half": "labels by the threshold 0.5",
    "_tuned": "labels by a tuned threshold",
    "_per_label": "labels by a tuned threshold for each label",
}


def metrics_of_prediction(names: Iterable[str]) -> list[str]:
    """
    Selects, in order, the names of the metrics that score the model's predicted output. The other metrics score the
    task-net's own output (`f1_own`) or the output for another score or threshold (`f1_decided`, `f1_tuned`), or are
    losses and the like.
    """
    return [name for name in names if _OF_OUTPUT.fullmatch(name) and not name.endswith(tuple(OTHER_OUTPUTS))]
