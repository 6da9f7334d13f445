"""Tests the significance of a difference between two systems by a paired bootstrap over examples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy

RESAMPLES = 2000
SEED = 0

Totals = dict[str, numpy.ndarray]


@dataclass(frozen=True)
class Statistic:
    """A score as a function of sums over examples. `value` maps the sums of the columns, elementwise, to the score."""

    columns: tuple[str, ...]
    value: Callable[[Totals], numpy.ndarray]

    def of(self, sums: numpy.ndarray) -> numpy.ndarray:
        """The score of sums whose last axis has the columns in order."""
        return self.value({name: sums[..., index] for index, name in enumerate(self.columns)})


def mean_of(name: str, number: str) -> Statistic:
    """The mean over examples, in percent, of the column `name`; the column `number` counts examples."""
    return Statistic((name, number), lambda sums: 100 * sums[name] / numpy.maximum(sums[number], 1))


def mean_f1(name: str) -> Statistic:
    """The mean over examples, in percent, of the F1 in the column `name`; the column `rows` counts examples."""
    return mean_of(name, "rows")


def f1_of_counts(suffix: str = "") -> Statistic:
    """F1, in percent, of the counts `correct` and `predicted`, both with `suffix`, and `gold`; 0 if all are 0."""
    correct, predicted = f"correct{suffix}", f"predicted{suffix}"
    return Statistic(
        (correct, predicted, "gold"),
        lambda sums: 200 * sums[correct] / numpy.maximum(sums[predicted] + sums["gold"], 1),
    )


#: The share, in percent, of tokens in the column `tokens` that the column `right` counts.
ACCURACY = mean_of("right", "tokens")
#: The share, in percent, of sentences in the column `sentence` that the column `exact` counts.
EXACT = mean_of("exact", "sentence")


class Comparison(NamedTuple):
    """The difference between the scores of a method and the baseline, with its p-value."""

    difference: float
    p_value: float


def paired_bootstrap(
    baseline: numpy.ndarray,
    method: numpy.ndarray,
    statistic: Statistic,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Comparison:
    """
    The paired bootstrap: examples are drawn again with replacement, the same ones for both systems. The two-sided p is
    the share of draws whose difference is at least as far from the observed one as the observed one is from 0
    (Berg-Kirkpatrick et al., EMNLP 2012, there one-sided). The observed difference counts as one more draw, so that p
    is never 0.

    # Parameters

    baseline, method : `numpy.ndarray`, `(examples, columns)`
        The statistic's columns of each example, the same examples in the same order.
    """
    first, second = numpy.asarray(baseline, float), numpy.asarray(method, float)
    observed = float(statistic.of(second.sum(axis=0)) - statistic.of(first.sum(axis=0)))
    both = numpy.concatenate([first, second], axis=1)
    # One product serves many draws.
    sums = numpy.concatenate([counts @ both for counts in _draws(len(first), resamples, seed)])
    columns = len(statistic.columns)
    differences = statistic.of(sums[:, columns:]) - statistic.of(sums[:, :columns])
    # The tolerance covers rounding of draws that lie exactly on the bound.
    extreme = numpy.abs(differences - observed) >= abs(observed) - 1e-9
    return Comparison(observed, float((1 + extreme.sum()) / (1 + resamples)))


def compared(
    baseline: Sequence[dict[str, float]], method: Sequence[dict[str, float]], statistic: Statistic
) -> tuple[float, float, Comparison]:
    """The scores of both systems, from the contributions of each example by column; and their comparison."""
    tables = [
        numpy.array([[row[name] for name in statistic.columns] for row in side], float) for side in (baseline, method)
    ]
    before, after = (float(statistic.of(table.sum(axis=0))) for table in tables)
    return before, after, paired_bootstrap(*tables, statistic)


@lru_cache(maxsize=2)
def _draws(examples: int, resamples: int, seed: int) -> list[numpy.ndarray]:
    """
    The number of times that each example is drawn, `(draws, examples)`, in parts of a small integer type to bound
    memory. The draws are cached, because they take far longer than the test, and every method on a split uses the same
    ones.
    """
    generator = numpy.random.default_rng(seed)
    even = numpy.full(examples, 1 / examples)
    sizes = [min(250, resamples - start) for start in range(0, resamples, 250)]
    return [generator.multinomial(examples, even, size=size).astype(numpy.uint16) for size in sizes]
