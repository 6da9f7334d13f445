"""Thresholds for multi-label predictions, tuned on rows with gold: one for all labels, or one for each."""

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

    Exact over all thresholds in (0, 1) and not only over a grid. F1 changes only where `t` passes one of the
    probabilities: each row's are sorted once, which gives what each further label adds to the row's F1; then
    those of all rows are sorted together and what they add is summed. That takes `O(nl log(nl))` time for `n`
    rows of `l` labels, and about 85 bytes for each of the `nl` probabilities.

    # Parameters

    probabilities : `torch.Tensor`
        `(rows, labels)`, floating, in [0, 1].
    gold : `torch.Tensor`
        `(rows, labels)`, 0 or 1 of any type.
    empty_f1 : `float`, optional (default = `1.0`)
        The F1, 0 to 1, of a row that has no label while none is predicted for it.
    missed : `torch.Tensor`, optional
        `(rows,)`, the number of further labels that each row has in gold and that cannot be predicted.
    weights : `torch.Tensor`, optional
        `(rows,)`, at least 0: how often each row counts, as if it were there so often.

    # Returns

    `float`
        In (0, 1): midway between the lowest probability that is taken (1 if none is) and the highest one that
        is not (0 if all are), because in other data the probabilities on both sides move. It is a number of
        the type of `probabilities`, so comparing in that type takes just these labels. Where several
        thresholds are equally good, one of them.

    # Raises

    `ValueError`
        Where there is no row, the shapes differ or something is not a probability.
    """
    probabilities, gold = _checked(probabilities, gold, "best_threshold")
    values, f1, num_gold = _f1_of_most_probable(probabilities, gold, missed)
    # shape: (rows, 1)
    f1_of_none = (num_gold == 0).double() * empty_f1
    # What a label adds is wrong within a group of equal probabilities, whose order is arbitrary, but the
    # group's sum is right, and no threshold parts the group.
    gains = f1.diff(dim=1, prepend=f1_of_none)
    if weights is not None:
        of_row = weights.detach().cpu().double().unsqueeze(1)
        gains, f1_of_none = gains * of_row, f1_of_none * of_row

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

    As for `best_label_thresholds`, of which this is the case of one label, and

    missed : `torch.Tensor`, optional
        `(rows,)`, the number of further labels that each row has in gold and that cannot be predicted; they have no
        weight.
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

    Exact over all thresholds in (0, 1). The mean over labels is then the best macro F1 that thresholds can
    reach on these rows.

    # Parameters

    probabilities, gold : as for `best_threshold`
    default : `float`, optional (default = `0.5`)
        The threshold of a label whose F1 is 0 at every threshold: no row has the label, or those that have it are
        given the probability 0.
    missed : `torch.Tensor`, optional
        `(labels,)`, the number of further rows that have each label in gold, but no probability.
    weights : `torch.Tensor`, optional
        As for `best_threshold`.

    # Returns

    `torch.Tensor`
        `(labels,)`, of the type of `probabilities`, on the CPU. Thresholds lie in (0, 1), each midway between
        probabilities as in `best_threshold`.

    # Raises

    As `best_threshold`.
    """
    probabilities, gold = _checked(probabilities, gold, "best_label_thresholds")
    # shape: (labels, rows)
    probabilities, gold = probabilities.t().contiguous(), gold.t().contiguous()
    values, f1, _ = _f1_of_most_probable(probabilities, gold, missed, weights)
    # Nothing is correct where nothing is predicted.
    f1 = torch.cat([f1.new_zeros(len(f1), 1), f1], dim=1)
    thresholds, best = _best_cut(values, f1)
    return thresholds.masked_fill(best == 0, default)


@torch.no_grad()
def best_subset_threshold(
    probabilities: torch.Tensor, gold: torch.Tensor, weights: Optional[torch.Tensor] = None
) -> float:
    """
    The threshold for which most rows have exactly their gold labels, midway between two probabilities. A row is right
    for the thresholds above all of its wrong labels' probabilities and up to the least of its right ones'; the best
    threshold lies in most of these intervals. Parameters and errors as for `best_threshold`.
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
    """The best threshold for `f1`, `micro_f1` or `subset_accuracy` on rows with gold, which count as `weights` say."""
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
    For each row of `(batch, n)`: the probabilities, descending; the F1 of taking the most probable 1, 2, ..., n, which
    count as `weights (n,)` say; and how many are in gold, with `missed` further ones, `(batch, 1)`.
    """
    order = _descending(probabilities)
    taken = torch.arange(1, gold.shape[1] + 1)
    if weights is not None:
        of_place = weights.detach().cpu().double()
        gold, taken = gold * of_place, of_place[order].cumsum(dim=1)
    hits = gold.gather(1, order).cumsum(dim=1)
    num_gold = gold.sum(dim=1, keepdim=True)
    if missed is not None:
        num_gold = num_gold + missed.unsqueeze(1)
    f1 = hits.double().mul_(2).div_(num_gold + taken)
    return probabilities.gather(1, order), f1, num_gold


def _best_cut(values: torch.Tensor, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """
    For each row of descending `values`, `(batch, n)`, the threshold in (0, 1) that takes the best number of them, and
    the score of taking so many: `(batch,)` each. `scores`, `(batch, n + 1)`, are those of taking 0, 1, ..., n values.
    """
    edge = values.new_ones(len(values), 1)
    # shape: (batch, n + 1), the lowest value taken and the highest one left
    lowest = torch.cat([edge, values], dim=1)
    left = torch.cat([values, edge - 1], dim=1)
    thresholds = left + (lowest - left) / 2
    # Between two neighbouring floating-point numbers there is none, and their midpoint is rounded to one of them.
    thresholds = torch.where(thresholds > left, thresholds, lowest)
    # Equal values are taken together. Every threshold in (0, 1) takes the values of 1 and leaves those of 0:
    # those behave as if equal to the edge. A threshold of 1 would leave no room above a value next to 1.
    possible = (lowest > left) & (thresholds < 1)
    best, cut = scores.masked_fill(~possible, -1.0).max(dim=1, keepdim=True)
    return thresholds.gather(1, cut).squeeze(1), best.squeeze(1)


def _descending(values: torch.Tensor) -> torch.Tensor:
    """Indices that sort the last dimension, highest first."""
    # NumPy's sort takes a third of the time of torch's, and neither has to be stable. It does not know bfloat16.
    return torch.from_numpy(numpy.argsort(-at_least_float(values).numpy(), axis=-1))


def _checked(probabilities: torch.Tensor, gold: torch.Tensor, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Both on the CPU, `gold` as booleans."""
    if probabilities.dim() != 2 or probabilities.shape != gold.shape:
        raise ValueError(
            f"{name} needs probabilities and gold of the same shape (rows, labels), found "
            f"{tuple(probabilities.shape)} and {tuple(gold.shape)}."
        )
    if len(gold) == 0:
        raise ValueError(f"{name} found no rows; a threshold is tuned on at least one row with gold labels.")
    # `all` of a comparison, for which not-a-number is not a probability either.
    if not (probabilities.is_floating_point() and ((probabilities >= 0) & (probabilities <= 1)).all()):
        raise ValueError(f"{name} needs probabilities, floating and from 0 to 1; pass logits through sigmoid.")
    return probabilities.detach().cpu(), gold.detach().cpu().bool()
