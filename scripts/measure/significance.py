"""Paired bootstrap over the examples of a split."""

from functools import lru_cache
from typing import Dict, List, NamedTuple, Sequence

import numpy
import pandas

from scripts.measure.suite import Statistic

RESAMPLES = 2000
SEED = 0


class Comparison(NamedTuple):
    """The difference of a method's score from the baseline's, and how likely chance makes one as large."""

    difference: float
    p_value: float


class UnlikeExamples(ValueError):
    """Runs that are to be compared example by example were not scored on the same ones."""


def paired_bootstrap(
    baseline: pandas.DataFrame,
    method: pandas.DataFrame,
    key: Sequence[str],
    statistic: Statistic,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Comparison:
    """
    Draws the examples anew, with replacement, the same draw for both. Two-sided: the share of draws in which
    the difference is at least as far from the observed one as that is from 0 (Berg-Kirkpatrick et al., EMNLP
    2012, there one-sided); the observed difference counts as one draw more, so that p is never 0.

    # Parameters

    baseline, method : `pandas.DataFrame`
        A row an example, the same examples in the same order, with the statistic's columns: counts, summed
        over seeds.
    key : `Sequence[str]`
        The columns that name an example.

    # Raises

    `UnlikeExamples`
    """
    _check_alike(baseline, method, key)
    columns = list(statistic.columns)
    first, second = baseline[columns].to_numpy(float), method[columns].to_numpy(float)

    def value(sums: numpy.ndarray) -> numpy.ndarray:
        return statistic.value({name: sums[..., index] for index, name in enumerate(columns)})

    observed = float(value(second.sum(axis=0)) - value(first.sum(axis=0)))
    both = numpy.concatenate([first, second], axis=1)
    # One product for many draws at once.
    sums = numpy.concatenate([counts @ both for counts in _draws(len(first), resamples, seed)])
    differences = value(sums[:, len(columns) :]) - value(sums[:, : len(columns)])
    # The tolerance is for draws that are exactly as far away as the bound: rounding must not put them a little nearer.
    extreme = numpy.abs(differences - observed) >= abs(observed) - 1e-9
    return Comparison(observed, float((1 + extreme.sum()) / (1 + resamples)))


@lru_cache(maxsize=2)
def _draws(examples: int, resamples: int, seed: int) -> List[numpy.ndarray]:
    """
    How often each example is drawn, `(draws, examples)`; in parts of a small integer type, to bound the memory. Cached,
    since drawing takes far longer than its use, and every method on a split is tested with the same draws.
    """
    generator = numpy.random.default_rng(seed)
    even = numpy.full(examples, 1 / examples)
    sizes = [min(250, resamples - start) for start in range(0, resamples, 250)]
    return [generator.multinomial(examples, even, size=size).astype(numpy.uint16) for size in sizes]


def pooled(frames: Dict[int, pandas.DataFrame], key: Sequence[str]) -> pandas.DataFrame:
    """
    The counts of each example summed over the runs of a method (by seed), in the order of the key.

    # Raises

    `UnlikeExamples`
    """
    names = list(key)
    ordered = [frame.sort_values(names, ignore_index=True) for frame in frames.values()]
    for frame in ordered[1:]:
        _check_alike(ordered[0], frame, key)
    return pandas.concat(ordered, ignore_index=True).groupby(names, sort=True, as_index=False).sum()


def _check_alike(first: pandas.DataFrame, second: pandas.DataFrame, key: Sequence[str]) -> None:
    """Raises `UnlikeExamples` if the tables are not of the same examples; nothing else would show that."""
    if len(first) != len(second):
        raise UnlikeExamples(f"the same examples are needed, found {len(first)} and {len(second)}")
    rows = (frame[list(key)].itertuples(index=False, name=None) for frame in (first, second))
    for ours, theirs in zip(*rows):
        if ours != theirs:
            told = (" ".join(map(str, row)) for row in (ours, theirs))
            raise UnlikeExamples(f"the same examples are needed, found {' where the other has '.join(told)}")
