"""Scores of predictions (F1, accuracy) as ratios of sums over instances, which a paired test can compare."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch


@dataclass
class Ratio:
    """
    A score `sum_i n_i / sum_i d_i` over instances `i`, 0 to 1. Micro F1 has `n = 2 correct` and `d = predicted + gold`;
    a mean over instances has `d = 1`.

    # Parameters

    numerators, denominators : `torch.Tensor`, `(instances,)`
    """

    numerators: torch.Tensor
    denominators: torch.Tensor

    @classmethod
    def mean(cls, values: torch.Tensor) -> "Ratio":
        """The mean of one value for each instance, `(instances,)`."""
        return cls(values, torch.ones_like(values))

    @classmethod
    def joined(cls, parts: "Sequence[Ratio]") -> "Ratio":
        """The score of the instances of all parts."""
        none = torch.zeros(0, dtype=torch.double)
        return cls(
            torch.cat([none, *(part.numerators for part in parts)]),
            torch.cat([none, *(part.denominators for part in parts)]),
        )

    @property
    def value(self) -> float:
        total = float(self.denominators.sum())
        return float(self.numerators.sum()) / total if total else 0.0

    def influence(self) -> torch.Tensor:
        """The influence function: each instance's first-order effect on the score, `(n_i - value d_i) / mean(d)`."""
        mean = self.denominators.mean().clamp(min=1e-12)
        return (self.numerators - self.value * self.denominators) / mean


def rate_upper_bound(found: int, number: int, confidence: float = 0.95) -> float:
    """
    The upper confidence bound of a rate, 0 to 1, after `found` positives in `number` independent trials (Clopper &
    Pearson 1934): the largest rate `r` with

    `sum_{i <= found} binom(number, i) r^i (1 - r)^(number - i) >= 1 - confidence`.
    """
    if found >= number:
        return 1.0
    ways = [math.lgamma(number + 1) - math.lgamma(i + 1) - math.lgamma(number - i + 1) for i in range(found + 1)]
    low, high = found / number, 1.0
    for _ in range(40):
        rate = (low + high) / 2
        logs = (ways[i] + i * math.log(rate) + (number - i) * math.log1p(-rate) for i in range(found + 1))
        low, high = (rate, high) if sum(map(math.exp, logs)) >= 1 - confidence else (low, rate)
    return (low + high) / 2


def gold_among_candidates(competes: torch.Tensor, first: torch.Tensor) -> dict[str, float]:
    """
    The share of instances whose gold is a candidate (`competes`), and among these the share whose gold is the likeliest
    candidate (`first`); both 0 to 1. Arguments are boolean, `(instances,)`.
    """
    return {
        "gold_competes": float(competes.float().mean()) if len(competes) else 0.0,
        "gold_first_where_it_competes": float(first[competes].float().mean()) if competes.any() else 0.0,
    }


def example_f1(predicted: torch.Tensor, gold: torch.Tensor, empty_f1: float = 1.0) -> Ratio:
    """
    The mean of the instances' F1, `empty_f1` where gold and prediction are empty. Arguments are boolean, `(instances,
    labels)`.
    """
    correct, total = (predicted & gold).sum(dim=1).double(), (predicted.sum(dim=1) + gold.sum(dim=1)).double()
    return Ratio.mean(torch.where(total == 0, empty_f1, 2 * correct / total.clamp(min=1)))


def micro_f1(predicted: torch.Tensor, gold: torch.Tensor) -> Ratio:
    """F1 over the labels of all instances. Arguments are boolean, `(instances, labels)`."""
    correct, total = (predicted & gold).sum(dim=1).double(), (predicted.sum(dim=1) + gold.sum(dim=1)).double()
    return Ratio(2 * correct, total)


def subset_accuracy(predicted: torch.Tensor, gold: torch.Tensor) -> Ratio:
    """The share of instances with exactly their gold labels. Arguments are boolean, `(instances, labels)`."""
    return Ratio.mean((predicted == gold).all(dim=1).double())


LABEL_SET_SCORES = {"f1": example_f1, "micro_f1": micro_f1, "subset_accuracy": subset_accuracy}


def label_set_scores(empty_f1: float) -> dict[str, Callable[[torch.Tensor, torch.Tensor], Ratio]]:
    """`LABEL_SET_SCORES`, with `empty_f1` as the F1 of an instance without gold labels and without predicted ones."""
    return {**LABEL_SET_SCORES, "f1": partial(example_f1, empty_f1=empty_f1)}
