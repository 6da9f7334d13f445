"""Chooses pairs of labels for figures: a related pair, and an unrelated one."""

from collections.abc import Iterable, Sequence
from typing import Optional

import numpy

from seal.files.taxonomy import Taxonomy
from seal_inspect import label_statistics


class LabelPairs:
    """
    Chooses pairs of a model's labels, by the taxonomy and by the labels' association in data.

    # Parameters

    names : `Sequence[str]`
        The model's labels.
    taxonomy : `Optional[Taxonomy]`
        A taxonomy with these labels and any others; `None`: pairs are chosen by the data alone.
    gold : `numpy.ndarray`, `(rows, labels)`
        Boolean: the labels of the data.
    """

    def __init__(self, names: Sequence[str], taxonomy: Optional[Taxonomy], gold: numpy.ndarray) -> None:
        self._names, self._gold = names, gold
        # Boolean, (labels, labels): [child, parent], and [label, itself or an ancestor].
        self._parents = self._above = None
        if taxonomy is not None:
            self._parents = self._marked(taxonomy, taxonomy.edges).T
            self._above = self._marked(taxonomy, zip(*taxonomy.closure.nonzero()))

    def related(self) -> Optional[list[int]]:
        """
        The most associated child and parent of the taxonomy or, without such a pair, the most associated pair of
        labels. A label comes before its ancestor. `None` if no two labels are associated.
        """
        if self._above is None:
            return label_statistics.most_associated(self._gold)
        found = label_statistics.most_associated(self._gold, self._parents | self._parents.T)
        found = found or label_statistics.most_associated(self._gold)
        return found[::-1] if found and self._above[found[1], found[0]] else found

    def unrelated(self, related: Sequence[int]) -> Optional[list[int]]:
        """
        The second label of the related pair, preceded by the least associated label that is neither its ancestor nor
        its descendant, nor in the related pair; `None` if there is none.
        """
        excluded = set(related)
        if self._above is not None:
            excluded.update(numpy.flatnonzero((self._above | self._above.T)[related[1]]).tolist())
        other = label_statistics.least_associated(self._gold, related[1], excluded)
        return None if other is None else [other, related[1]]

    def _marked(self, taxonomy: Taxonomy, pairs: Iterable[tuple[int, int]]) -> numpy.ndarray:
        """A Boolean table of the model's labels, `(labels, labels)`, True at the given pairs of the taxonomy."""
        columns = {name: column for column, name in enumerate(self._names)}
        table = numpy.zeros((len(columns), len(columns)), dtype=bool)
        for pair in pairs:
            names = [taxonomy.labels[label] for label in pair]
            if columns.keys() >= set(names):
                one, other = (columns[name] for name in names)
                table[one, other] = True
        return table
