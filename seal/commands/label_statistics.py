"""
What a table of labels tells by itself: how its sets look, and which labels go together.
"""

from typing import Dict, Iterable, List, NamedTuple, Optional, Union

import numpy


class LabelSets(NamedTuple):
    """
    Sets of labels of a split (SEAL, ICLR 2022 submission, appendix F; AN10).

    # Parameters

    summary : `Dict[str, Union[int, float]]`
        `rows`, `labels`; `different_sets` and `diversity`, their share of the rows; `mean_size`, the labels of a row;
        `empty_rows`, `rows_of_several`; and how many labels stand `only_alone`, `only_with_others`, `both` or `never`.
    counts, alone : `numpy.ndarray`, `(labels,)`
        The rows that have the label, and those that have no other.
    sizes : `numpy.ndarray`, `(largest set + 1,)`
        The rows with so many labels, from 0.
    """

    summary: Dict[str, Union[int, float]]
    counts: numpy.ndarray
    alone: numpy.ndarray
    sizes: numpy.ndarray


def label_sets(gold: numpy.ndarray) -> LabelSets:
    """
    # Parameters

    gold : `numpy.ndarray`, `(rows, labels)`
        Boolean; at least one row.
    """
    size = gold.sum(axis=1)
    counts, alone = gold.sum(axis=0), gold[size == 1].sum(axis=0)
    different = len(numpy.unique(numpy.packbits(gold, axis=1), axis=0))
    summary = {
        "rows": len(gold),
        "labels": gold.shape[1],
        "different_sets": different,
        "diversity": different / len(gold),
        "mean_size": float(size.mean()),
        "empty_rows": int((size == 0).sum()),
        "rows_of_several": int((size > 1).sum()),
        "only_alone": int(((alone == counts) & (counts > 0)).sum()),
        "only_with_others": int(((alone == 0) & (counts > 0)).sum()),
        "both": int(((alone > 0) & (alone < counts)).sum()),
        "never": int((counts == 0).sum()),
    }
    return LabelSets(summary, counts, alone, numpy.bincount(size))


def co_occurrence(gold: numpy.ndarray) -> numpy.ndarray:
    """
    The share of rows that have both labels, `Y^T Y / N`, without the diagonal (implicit-training paper, appendix C;
    AN2): `(labels, labels)`.
    """
    # In floating point: numpy multiplies matrices of integers without BLAS.
    together = gold.T.astype(float) @ gold / len(gold)
    numpy.fill_diagonal(together, 0)
    return together


def pointwise_mutual_information(gold: numpy.ndarray) -> numpy.ndarray:
    """
    `log P(both) / (P(one) P(other))` of each pair of labels, in nats: `(labels, labels)`; above 0 where they go
    together, NaN where they never do and on the diagonal.
    """
    share = gold.mean(axis=0)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        information = numpy.log(co_occurrence(gold) / numpy.outer(share, share))
    information[~numpy.isfinite(information)] = numpy.nan
    return information


def most_associated(gold: numpy.ndarray, among: Optional[numpy.ndarray] = None) -> Optional[List[int]]:
    """
    The pair of labels that tell most of each other, by `P(both) log P(both) / (P(one) P(other))`: neither a pair that
    is hardly ever there, nor one with a label that is always there. The rarer label comes first: it is more of a child
    than a parent.

    # Parameters

    among : `numpy.ndarray`, `(labels, labels)`, optional
        Boolean: the pairs that may be taken.

    # Returns

    `Optional[List[int]]`; `None` without any pair that goes together.
    """
    told = co_occurrence(gold) * pointwise_mutual_information(gold)
    if among is not None:
        told = numpy.where(among, told, numpy.nan)
    if not (told > 0).any():
        return None
    pair = numpy.unravel_index(numpy.nanargmax(told), told.shape)
    counts = gold.sum(axis=0)
    return sorted(map(int, pair), key=lambda label: counts[label])


def least_associated(
    gold: numpy.ndarray, label: int, excluded: Iterable[int] = (), least: int = 5
) -> Optional[int]:
    """
    The label that is closest to independent of `label`, by pointwise mutual information, among those that at least so
    many rows have; `None` without any.
    """
    distance = numpy.abs(pointwise_mutual_information(gold)[label])
    distance[gold.sum(axis=0) < least] = numpy.nan
    distance[list(excluded)] = numpy.nan
    return None if numpy.isnan(distance).all() else int(numpy.nanargmin(distance))
