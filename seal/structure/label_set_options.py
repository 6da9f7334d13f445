"""The options that the gate compares for label sets, with the best thresholds and blends for each score."""

from collections.abc import Callable

import torch

from seal.structure.row_parts import selected, thirds
from seal.structure.scores import Ratio, label_set_scores
from seal.structure.thresholds import best_threshold_for

#: The shares of the structured marginals in the options `blend`.
BLENDS = (0.25, 0.5, 0.75, 1.0)
#: Up to so many rows, thresholds are scored by cross-fitting: above, the score on the rows that tuned a threshold is
#: hardly too high.
FEW_ROWS = 3000
#: The index of each decision's label set in the argument `q` of `options_for`. Index 0 is for the marginals; `powerset`
#: may be missing.
PLACES = {"likeliest": 1, "expected_score": 2, "powerset": 3}


def options_for(
    name: str,
    own: torch.Tensor,
    q: torch.Tensor,
    gold: torch.Tensor,
    empty_f1: float = 1.0,
    repair: Callable[[torch.Tensor, float, torch.Tensor], torch.Tensor] | None = None,
    groups: torch.Tensor | None = None,
    weights: torch.Tensor | None = None,
    predicted: torch.Tensor | None = None,
) -> tuple[dict[str, Ratio], dict[str, dict]]:
    """
    The gate's options for a score, each with its settings: `own` first, blends with their best thresholds, the sets of
    decisions, and the classifier's own predictions.

    With few rows (`FEW_ROWS`) each third of the rows is scored with thresholds that were tuned on the other two: on
    the rows that tuned it, a threshold's score would be too high, compared with whole sets, which have none.

    # Parameters

    name : `str`
        One of `LABEL_SET_SCORES`.
    own : `torch.Tensor`, `(rows, labels)`
        The task-net's probabilities of labels.
    q : `torch.Tensor`, `(rows, 3 or 4, labels)`
        Marginals, and the sets of `likeliest`, `expected_score` and, if there are four, `powerset`.
    gold : `torch.BoolTensor`, `(rows, labels)`
    empty_f1 : `float`, optional (default = `1.0`)
    repair : `Callable`, optional
        Takes labels, the blend and the indices of their rows, and returns labels that keep the rules.
    groups : `torch.LongTensor`, `(rows,)`, optional
        The number of each row's group; a group is in one third.
    weights : `torch.Tensor`, `(rows,)`, optional
        How often each row counts.
    predicted : `torch.BoolTensor`, `(rows, labels)`, optional
        The classifier's own predictions.

    # Returns

    The score of each option, and the settings of each: entries of `LabelSetStructure.chosen`.
    """

    every = torch.arange(len(gold))

    def score(labels: torch.Tensor, rows: torch.Tensor = every) -> Ratio:
        return _weighted(label_set_scores(empty_f1)[name](labels, gold[rows]), selected(weights, rows))

    options: dict[str, Ratio] = {}
    settings: dict[str, dict] = {}
    parts = thirds(len(gold), groups) if 6 <= len(gold) <= FEW_ROWS else []

    repaired = repair or _unchanged

    def passed(mixed: torch.Tensor, setting: dict, rows: torch.Tensor) -> torch.Tensor:
        labels = labels_above(mixed[rows], setting["threshold"], setting["never_nothing"])
        return repaired(labels, setting["blend"], rows)

    def best(mixed: torch.Tensor, blend: float, rows: torch.Tensor) -> dict:
        best_setting = {"blend": blend, "threshold": 0.5, "never_nothing": False}
        if len(rows) == 0:
            return best_setting
        best_value = -1.0
        for never_nothing in (False, True):
            raised = _never_nothing(mixed[rows]) if never_nothing else mixed[rows]
            threshold = best_threshold_for(name, raised, gold[rows], empty_f1, selected(weights, rows))
            setting = {"blend": blend, "threshold": threshold, "never_nothing": never_nothing}
            value = score(passed(mixed, setting, rows), rows).value
            if value > best_value:
                best_setting, best_value = setting, value
        return best_setting

    for blend in (0.0, *BLENDS):
        mixed = blended(own, lambda: q, blend)
        option = f"blend {blend:g}" if blend else "own"
        settings[option] = best(mixed, blend, every)
        labels = torch.zeros_like(gold)
        for rest, held in parts:
            rows = every[held]
            labels[rows] = passed(mixed, best(mixed, blend, every[rest]), rows)
        options[option] = score(labels if parts else passed(mixed, settings[option], every))
    for option, place in PLACES.items():
        if option != "powerset" or (name == "subset_accuracy" and q.shape[1] > place):
            settings[option] = {"output": place}
            options[option] = score(q[:, place].bool())
    if predicted is not None:
        settings["predict"] = {"blend": 0.0}
        options["predict"] = score(repaired(predicted, 0.0, every))
    return options, settings


def _unchanged(labels: torch.Tensor, blend: float, rows: torch.Tensor) -> torch.Tensor:
    return labels


def _weighted(ratio: Ratio, weights: torch.Tensor | None) -> Ratio:
    return ratio if weights is None else Ratio(ratio.numerators * weights, ratio.denominators * weights)


def _never_nothing(probabilities: torch.Tensor) -> torch.Tensor:
    """`probabilities`, `(rows, labels)`, with each row's likeliest label set to 1, so that it passes any threshold."""
    return probabilities.scatter(1, probabilities.argmax(dim=1, keepdim=True), 1.0)


def labels_above(probabilities: torch.Tensor, threshold: float, never_nothing: bool) -> torch.Tensor:
    """The labels with at least this probability and, with `never_nothing`, each row's likeliest; boolean."""
    return (_never_nothing(probabilities) if never_nothing else probabilities) >= threshold


def blended(own: torch.Tensor, outputs: Callable[[], torch.Tensor], blend: float) -> torch.Tensor:
    """`(1 - b) p_l + b m_l`, `(rows, labels)`; calls `outputs` only if `b > 0`."""
    return torch.lerp(own, outputs()[:, 0], blend) if blend else own
