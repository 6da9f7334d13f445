"""What the names of metrics say of which output they measure."""

import re
from collections.abc import Iterable

# The scores of an output, alone or with what they are of: `f1-PER`, `violations_once`.
_OF_OUTPUT = re.compile(
    r"(micro_|macro_|predicate_)?f1(_all)?(-.*)?|precision|recall|accuracy|exact_match|subset_accuracy|ucr|duplicates|"
    r"(mean|global)_iou|pixel_accuracy|violations_.*"
)
#: What a score is of whose name ends in one of these, and not of the prediction.
OTHER_OUTPUTS = {
    "_own": "the task-net's own output",
    "_decided": "labels that are chosen for this score (model.score)",
    "_half": "labels by the threshold 0.5",
    "_tuned": "labels by a tuned threshold",
    "_per_label": "labels by a tuned threshold for each label",
}


def of_prediction(names: Iterable[str]) -> list[str]:
    """
    Those of the names of metrics, in their order, that are scores of what the model predicts. Others are of the
    task-net's own output (`f1_own`), of what is predicted for another score or by another threshold (`f1_decided`,
    `f1_tuned`), or no scores of an output, such as losses.
    """
    return [name for name in names if _OF_OUTPUT.fullmatch(name) and not name.endswith(tuple(OTHER_OUTPUTS))]
