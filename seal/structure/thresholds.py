"""The threshold on probabilities for each score of label sets."""

import torch

from seal.metrics.thresholds import best_micro_threshold, best_threshold


def best_subset_threshold(probabilities: torch.Tensor, gold: torch.Tensor) -> float:
    """
    The threshold for which most rows have exactly their gold labels. A row is right for the thresholds above all of its
    wrong labels' probabilities and up to the least of its right ones'; the best threshold lies in most of these intervals.

    # Parameters

    probabilities : `torch.Tensor`, `(rows, labels)`, in [0, 1]
    gold : `torch.Tensor`, `(rows, labels)`, boolean
    """
    low = probabilities.masked_fill(gold, 0.0).amax(dim=1)
    high = probabilities.masked_fill(~gold, 1.0).amin(dim=1)
    open_ = low < high
    low, high = low[open_].double(), high[open_].double()
    if len(low) == 0:
        return 0.5
    ends = torch.cat([low, high])
    steps = torch.cat([torch.ones_like(low), -torch.ones_like(high)])
    order = ends.argsort(stable=True)
    ends, right = ends[order], steps[order].cumsum(0)
    # Of several equal ends only the last has the whole sum.
    last = torch.ones_like(ends, dtype=torch.bool)
    last[:-1] = ends[1:] > ends[:-1]
    ends, right = ends[last], right[last]
    best = int(right.argmax())
    above = float(ends[best + 1]) if best + 1 < len(ends) else 1.0
    return (float(ends[best]) + above) / 2


def best_threshold_for(score: str, probabilities: torch.Tensor, gold: torch.Tensor) -> float:
    """The best threshold for `f1`, `micro_f1` or `subset_accuracy` on rows with gold."""
    tune = {"f1": best_threshold, "micro_f1": best_micro_threshold, "subset_accuracy": best_subset_threshold}[score]
    return tune(probabilities, gold)
