"""Tunes thresholds of multi-label predictions on rows with gold: one for all labels, or one for each label."""

from typing import Optional

import numpy
import torch

from seal.common.precision import at_least_float


@torch.no_grad()
def best_threshold(
    probabilities: torch.Tensor,
    gold: torch.Tensor,
    empty_f1: float = 1.0,
    missed: Optional[torch.Tensor] = None,
    weights: Optional[torch.Tensor] = None,
) -> float:
    """
    The threshold `t` for which the labels `p >= t` have the best example F1,

    `max_t 1/n sum_i 2 |y^_i(t) & y_i| / (|y^_i(t)| + |y_i|)`, `y^_i(t) = {l: p_il >= t}`.

    It is exact over all thresholds in (0, 1). F1 changes only where `t` passes a probability. Sorting each row gives
    the change of the row's F1 with each further label; sorting all probabilities and summing the changes gives the F1
    at each threshold. That takes `O(nl log(nl))` time for `n` rows of `l` labels, and about 85 bytes for each of the
    `nl` probabilities.

    # Parameters

    probabilities : `torch.Tensor`
        `(rows, labels)`, floating, in [0, 1].
    gold : `torch.Tensor`
        `(rows, labels)`, 0 or 1 of any type.
    empty_f1 : `float`, optional (default = `1.0`)
        The F1, 0 to 1, of a row without gold labels and without predicted ones.
    missed : `torch.Tensor`, optional
        `(rows,)`, the number of further gold labels of each row that have no probability and cannot be predicted.
    weights : `torch.Tensor`, optional
        `(rows,)`, at least 0: how often each row counts.

    # Returns

    `float`
        In (0, 1): the middle between the lowest predicted probability (1 if none is predicted) and the highest other
        one (0 if all are), as probabilities differ a little in other data. It is a number of the type of
        `probabilities`, so a comparison in that type predicts exactly these labels. If several thresholds are equally
        good, one of them.

    # Raises

    `ValueError`
        If there is no row, the shapes differ, or a value is not a probability.
    """
    probabilities, gold = _checked(probabilities, gold, "best_threshold")
    values, f1, num_gold = _f1_of_most_probable(probabilities, gold, missed)
    # shape: (rows, 1)
    f1_of_none = (num_gold == 0).double() * empty_f1
    # Among equal probabilities the order is arbitrary, and so is the gain of each. Their sum is right, and no threshold
    # separates them.
    gains = f1.diff(dim=1, prepend=f1_of_none)
    if weights is not None:
        row_weights = weights.detach().cpu().double().unsqueeze(1)
        gains, f1_of_none = gains * row_weights, f1_of_none * row_weights

    values = values.flatten()
    order = _descending(values)
    totals = torch.cat([f1_of_none.sum().unsqueeze(0), gains.flatten().gather(0, order)]).cumsum(dim=0)
    threshold, _ = _best_cut(values.gather(0, order).unsqueeze(0), totals.unsqueeze(0))
    return threshold.item()


def best_micro_threshold(
    probabilities: torch.Tensor,
    gold: torch.Tensor,
    default: float = 0.5,
    missed: Optional[torch.Tensor] = None,
    weights: Optional[torch.Tensor] = None,
) -> float:
    """
    The threshold `t` for which the labels `p >= t` have the best micro F1,

    `max_t 2 tp(t) / (predicted(t) + gold)`, with counts over all labels of all rows.

    # Parameters, Returns, Raises

    As for `best_label_thresholds`, which this function calls with all labels as one; but

    missed : `torch.Tensor`, optional
        `(rows,)`, the number of further gold labels of each row that have no probability. `weights` do not apply to
        them.
    """
    _checked(probabilities, gold, "best_micro_threshold")
    total = None if missed is None else missed.sum().reshape(1)
    if weights is not None:
        weights = weights.unsqueeze(1).expand(gold.shape).reshape(-1)
    return best_label_thresholds(probabilities.reshape(-1, 1), gold.reshape(-1, 1), default, total, weights).item()


@torch.no_grad()
def best_label_thresholds(
    probabilities: torch.Tensor,
    gold: torch.Tensor,
    default: float = 0.5,
    missed: Optional[torch.Tensor] = None,
    weights: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """
    The threshold of each label `l` for which the rows `p_l >= t_l` have the label's best F1,

    `max_t 2 tp_l(t) / (predicted_l(t) + gold_l)`, with counts over rows.

    It is exact over all thresholds in (0, 1). The mean over labels is the best macro F1 by thresholds on these rows.

    # Parameters

    probabilities, gold : as for `best_threshold`
    default : `float`, optional (default = `0.5`)
        The threshold of a label whose F1 is 0 at every threshold: no row has the label, or its rows all have the
        probability 0.
    missed : `torch.Tensor`, optional
        `(labels,)`, the number of further rows with this gold label that have no probability.
    weights : `torch.Tensor`, optional
        As for `best_threshold`.

    # Returns

    `torch.Tensor`
        `(labels,)`, of the type of `probabilities`, on the CPU; each threshold as that of `best_threshold`.

    # Raises

    As `best_threshold`.
    """
    probabilities, gold = _checked(probabilities, gold, "best_label_thresholds")
    # shape: (labels, rows)
    probabilities, gold = probabilities.t().contiguous(), gold.t().contiguous()
    values, f1, _ = _f1_of_most_probable(probabilities, gold, missed, weights)
    # F1 is 0 where nothing is predicted.
    f1 = torch.cat([f1.new_zeros(len(f1), 1), f1], dim=1)
    thresholds, best = _best_cut(values, f1)
    return thresholds.masked_fill(best == 0, default)


@torch.no_grad()
def best_subset_threshold(
    probabilities: torch.Tensor, gold: torch.Tensor, weights: Optional[torch.Tensor] = None
) -> float:
    """
    The threshold for which the most rows have exactly their gold labels, in the middle between two probabilities. A row
    is right for thresholds in an interval: above the probabilities of its wrong labels, and up to the lowest one of its
    gold labels. The best threshold lies in the most intervals. Parameters and errors as for `best_threshold`.
    """
    probabilities, gold = _checked(probabilities, gold, "best_subset_threshold")
    low = probabilities.masked_fill(gold, 0.0).amax(dim=1)
    high = probabilities.masked_fill(~gold, 1.0).amin(dim=1)
    open_ = low < high
    low, high = low[open_].double(), high[open_].double()
    count = torch.ones_like(low) if weights is None else weights.detach().cpu()[open_].to(low)
    if len(low) == 0:
        return 0.5
    ends = torch.cat([low, high])
    steps = torch.cat([count, -count])
    order = ends.argsort(stable=True)
    ends, right = ends[order], steps[order].cumsum(0)
    # Of several equal ends only the last has the whole sum.
    last = torch.ones_like(ends, dtype=torch.bool)
    last[:-1] = ends[1:] > ends[:-1]
    ends, right = ends[last], right[last]
    best = int(right.argmax())
    above = float(ends[best + 1]) if best + 1 < len(ends) else 1.0
    return (float(ends[best]) + above) / 2


def best_threshold_for(
    score: str,
    probabilities: torch.Tensor,
    gold: torch.Tensor,
    empty_f1: float = 1.0,
    weights: Optional[torch.Tensor] = None,
) -> float:
    """The best threshold for the score `name` of `LABEL_SET_SCORES`; other parameters as for `best_threshold`."""
    if score == "f1":
        return best_threshold(probabilities, gold, empty_f1, weights=weights)
    if score == "micro_f1":
        return best_micro_threshold(probabilities, gold, weights=weights)
    return best_subset_threshold(probabilities, gold, weights)


def _f1_of_most_probable(
    probabilities: torch.Tensor,
    gold: torch.Tensor,
    missed: Optional[torch.Tensor],
    weights: Optional[torch.Tensor] = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """
    The F1 of predicting the most probable 1, 2, ..., n entries of each row of `(batch, n)`.

    # Returns

    The probabilities in descending order, `(batch, n)`; the F1, `(batch, n)`; and the number of gold entries including
    `missed`, `(batch, 1)`. With `weights (n,)` entries count by their weights.
    """
    order = _descending(probabilities)
    taken = torch.arange(1, gold.shape[1] + 1)
    if weights is not None:
        column_weights = weights.detach().cpu().double()
        gold, taken = gold * column_weights, column_weights[order].cumsum(dim=1)
    hits = gold.gather(1, order).cumsum(dim=1)
    num_gold = gold.sum(dim=1, keepdim=True)
    if missed is not None:
        num_gold = num_gold + missed.unsqueeze(1)
    f1 = hits.double().mul_(2).div_(num_gold + taken)
    return probabilities.gather(1, order), f1, num_gold


def _best_cut(values: torch.Tensor, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """
    The best threshold in (0, 1) for each row of descending `values`, `(batch, n)`, and its score: `(batch,)` each.
    `scores`, `(batch, n + 1)`, are the scores of predicting the first 0, 1, ..., n values.
    """
    edge = values.new_ones(len(values), 1)
    # The lowest predicted value, and the highest one that is not predicted. shape: (batch, n + 1)
    lowest = torch.cat([edge, values], dim=1)
    left = torch.cat([values, edge - 1], dim=1)
    thresholds = left + (lowest - left) / 2
    # The middle of two neighbouring floating-point numbers is rounded to one of them; take the larger one.
    thresholds = torch.where(thresholds > left, thresholds, lowest)
    # No threshold separates equal values. A threshold in (0, 1) always predicts values of 1 and never values of 0, so
    # these count as equal to the edge. The threshold 1, from rounding next to 1, is excluded.
    possible = (lowest > left) & (thresholds < 1)
    best, cut = scores.masked_fill(~possible, -1.0).max(dim=1, keepdim=True)
    return thresholds.gather(1, cut).squeeze(1), best.squeeze(1)


def _descending(values: torch.Tensor) -> torch.Tensor:
    """Indices that sort the last dimension, highest first."""
    # NumPy's sort takes a third of the time of torch's, and neither has to be stable. It does not know bfloat16.
    return torch.from_numpy(numpy.argsort(-at_least_float(values).numpy(), axis=-1))


def _checked(probabilities: torch.Tensor, gold: torch.Tensor, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Checks the arguments of the function `name`, and returns them on the CPU, `gold` as booleans."""
    if probabilities.dim() != 2 or probabilities.shape != gold.shape:
        raise ValueError(
            f"{name} needs probabilities and gold of the same shape (rows, labels), found "
            f"{tuple(probabilities.shape)} and {tuple(gold.shape)}."
        )
    if len(gold) == 0:
        raise ValueError(f"{name} found no rows; a threshold is tuned on at least one row with gold labels.")
    # Written with `all`, so that NaN is refused too.
    if not (probabilities.is_floating_point() and ((probabilities >= 0) & (probabilities <= 1)).all()):
        raise ValueError(f"{name} needs probabilities, floating and from 0 to 1; pass logits through sigmoid.")
    return probabilities.detach().cpu(), gold.detach().cpu().bool()
