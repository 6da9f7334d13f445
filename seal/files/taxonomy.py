"""
Label taxonomies: which label is a kind of which, as a forest or any directed acyclic graph.

Nothing here knows a file format; the readers of `seal.tasks` do.
"""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

import numpy
from scipy import sparse

from seal.common.setting_checks import abbreviate
from seal.registry import ConfigurationError

#: The most pairs of a label and one of its ancestors. A chain of 4,500 labels has as many.
MOST_PAIRS = 10_000_000
# The most labels of a cycle that a message names.
_NAMED = 5


class CircularTaxonomy(ConfigurationError):
    """
    The edges of a taxonomy contain a cycle.

    # Parameters

    circle : `list[str]`
        The labels of one cycle, each the parent of the next; the last is the first.
    """

    def __init__(self, circle: list[str]) -> None:
        named = circle if len(circle) <= _NAMED + 1 else [*circle[: _NAMED - 1], *circle[-2:]]
        shown = [abbreviate(label) for label in named]
        if len(named) < len(circle):
            shown.insert(_NAMED - 1, f"({len(circle) - len(named)} more)")
        super().__init__(f"The taxonomy goes round in a circle: {' -> '.join(shown)}.")
        self.edges = list(zip(circle, circle[1:]))
        """The cycle's edges, `(parent, child)`."""


class Taxonomy:
    """
    Labels and the parents of each.

    ```python
    taxonomy = Taxonomy(["animal", "bird", "owl"], [("animal", "bird"), ("bird", "owl")])
    taxonomy.ancestors("owl")  # ["animal", "bird"]
    ```

    # Parameters

    labels : `Sequence[str]`
        Every label once; its place in this list is its column.
    edges : `Iterable[tuple[str, str]]`
        `(parent, child)`. An edge that is given twice counts once. A common root of all labels is not a label:
        leave it and its edges out.

    # Attributes

    labels : `list[str]`
    edges : `list[tuple[int, int]]`
        `(parent, child)` as columns, sorted.

    # Raises

    `ConfigurationError`
        If a label occurs twice, an edge names an unknown label, the edges contain a cycle (`CircularTaxonomy`), or
        there are more than `MOST_PAIRS` pairs of a label and an ancestor.
    """

    def __init__(self, labels: Sequence[str], edges: Iterable[tuple[str, str]] = ()) -> None:
        self.labels = list(labels)
        self._column: dict[str, int] = {label: column for column, label in enumerate(self.labels)}
        if len(self._column) < len(self.labels):
            twice = next(label for i, label in enumerate(self.labels) if self._column[label] != i)
            raise ConfigurationError(f"The taxonomy has the label {twice!r} twice.")
        columns = set()
        for parent, child in edges:
            for label in (parent, child):
                if label not in self._column:
                    raise ConfigurationError(
                        f"The taxonomy has the edge {parent!r} -> {child!r}, but no label {label!r}."
                    )
            columns.add((self._column[parent], self._column[child]))
        self.edges: list[tuple[int, int]] = sorted(columns)
        self.closure = self._closure()
        """Boolean sparse matrix, shape (labels, labels): row = a label, columns = itself and its ancestors."""

    def with_labels(self, labels: Iterable[str]) -> "Taxonomy":
        """A taxonomy with the same edges. Its labels are `labels`, followed by the others of this taxonomy."""
        named = [(self.labels[parent], self.labels[child]) for parent, child in self.edges]
        return Taxonomy(list(dict.fromkeys([*labels, *self.labels])), named)

    def ancestors(self, label: str) -> list[str]:
        """All ancestors of a label, in the order of `labels`."""
        if label not in self._column:
            raise ConfigurationError(f"The taxonomy has no label {label!r}.")
        column = self._column[label]
        start, end = self.closure.indptr[column : column + 2]
        return [self.labels[above] for above in sorted(self.closure.indices[start:end]) if above != column]

    def close(self, labels: "sparse.csr_array") -> "sparse.csr_array":
        """Labels `(rows, labels)`, boolean, with every ancestor of a row's labels; indices are sorted."""
        # The product is in integers, because it counts paths, and a label may be reached along many.
        closed = labels.astype(numpy.int32) @ self.closure.astype(numpy.int32)
        closed = sparse.csr_array(closed.astype(bool))
        closed.sort_indices()
        return closed

    def _closure(self) -> "sparse.csr_array":
        parents: list[list[int]] = [[] for _ in self.labels]
        for parent, child in self.edges:
            parents[child].append(parent)
        try:
            order = list(TopologicalSorter(dict(enumerate(parents))).static_order())
        except CycleError as error:
            circle = error.args[1][1:]
            first = circle.index(min(circle))
            circle = [*circle[first:], *circle[: first + 1]]
            raise CircularTaxonomy([self.labels[column] for column in circle]) from None
        above = [numpy.empty(0, numpy.int32)] * len(self.labels)
        pairs = 0
        for column in order:
            own = numpy.array([column], numpy.int32)
            above[column] = numpy.unique(numpy.concatenate([own, *(above[parent] for parent in parents[column])]))
            pairs += len(above[column])
            if pairs > MOST_PAIRS:
                raise ConfigurationError(
                    f"The taxonomy has more than {MOST_PAIRS:,} pairs of a label and its ancestors, such as "
                    f"{len(above[column]) - 1:,} above {abbreviate(self.labels[column])}; correct its edges."
                )
        indptr = numpy.cumsum([0] + [len(columns) for columns in above])
        indices = numpy.concatenate(above) if above else numpy.empty(0, numpy.int32)
        shape = (len(self.labels), len(self.labels))
        return sparse.csr_array((numpy.ones(len(indices), bool), indices, indptr), shape=shape)
