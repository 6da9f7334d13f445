"""Tables of examples for the paired bootstrap of `seal_inspect.significance`."""

from collections.abc import Sequence

import pandas

from seal_inspect import significance
from seal_inspect.significance import RESAMPLES, SEED, Comparison, Statistic


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
    As that of the package, of tables.

    `baseline` and `method`: a row an example, the same examples in the same order, with the statistic's columns:
    counts, summed over seeds. `key`: the columns that name an example. Raises `UnlikeExamples`.
    """
    _check_alike(baseline, method, key)
    first, second = (frame[list(statistic.columns)].to_numpy(float) for frame in (baseline, method))
    return significance.paired_bootstrap(first, second, statistic, resamples, seed)


def pooled(frames: dict[int, pandas.DataFrame], key: Sequence[str]) -> pandas.DataFrame:
    """
    The counts of each example summed over the runs of a method (by seed), in the order of the key. Raises
    `UnlikeExamples`.
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
