"""Statistics of a table of labels: its label sets, and the association of labels."""

from collections.abc import Iterable
from typing import NamedTuple, Optional, Union

import numpy


class LabelSets(NamedTuple):
    """Statistics of the label sets of a split (SEAL, ICLR 2022 submission, appendix F)."""

    #: The numbers of `rows`, `labels` and `different_sets`; `diversity`, the different sets' share of the rows;
    #: `mean_size`, the mean number of labels of a row; the numbers of `empty_rows` without a label and of
    #: `rows_of_several` labels; and how many labels occur `only_alone`, `only_with_others`, `both` or `never`.
    summary: dict[str, Union[int, float]]
    #: For each label, the number of rows that have it, and of those that have no other.
    counts: numpy.ndarray
    alone: numpy.ndarray
    #: At place `n`, the number of rows with `n` labels.
    sizes: numpy.ndarray


def label_sets(gold: numpy.ndarray) -> LabelSets:
    """The statistics of label sets of at least one row: boolean, `(rows, labels)`."""
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
    The share of rows that have both labels of a pair, `Y^T Y / N`, with 0 on the diagonal (implicit-training paper,
    appendix C): `(labels, labels)`.
    """
    # The product is in floating point, because numpy multiplies matrices of integers without BLAS.
    together = gold.T.astype(float) @ gold / len(gold)
    numpy.fill_diagonal(together, 0)
    return together


def pointwise_mutual_information(gold: numpy.ndarray) -> numpy.ndarray:
    """
    `log(P(both) / (P(one) P(other)))` of each pair of labels, in nats: `(labels, labels)`. It is above 0 for labels
    that occur together more often than by chance; NaN for labels that never do, and on the diagonal.
    """
    share = gold.mean(axis=0)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        information = numpy.log(co_occurrence(gold) / numpy.outer(share, share))
    information[~numpy.isfinite(information)] = numpy.nan
    return information


def most_associated(gold: numpy.ndarray, among: Optional[numpy.ndarray] = None) -> Optional[list[int]]:
    """
    The pair of labels with the largest `P(both) log(P(both) / (P(one) P(other)))`, among the pairs that are True in
    `among`, `(labels, labels)`. This measure is low for rare pairs, and for pairs with a label that always occurs. The
    rarer label comes first, because it is more likely to be the child. `None` if no pair has a positive value.
    """
    association = co_occurrence(gold) * pointwise_mutual_information(gold)
    if among is not None:
        association = numpy.where(among, association, numpy.nan)
    if not (association > 0).any():
        return None
    pair = numpy.unravel_index(numpy.nanargmax(association), association.shape)
    counts = gold.sum(axis=0)
    return sorted(map(int, pair), key=lambda label: counts[label])


def least_associated(gold: numpy.ndarray, label: int, excluded: Iterable[int] = (), least: int = 5) -> Optional[int]:
    """
    The label whose pointwise mutual information with `label` is closest to 0, among the labels of at least `least` rows
    that are not `excluded`; `None` if there is none.
    """
    distance = numpy.abs(pointwise_mutual_information(gold)[label])
    distance[gold.sum(axis=0) < least] = numpy.nan
    distance[list(excluded)] = numpy.nan
    return None if numpy.isnan(distance).all() else int(numpy.nanargmin(distance))
