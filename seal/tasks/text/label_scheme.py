"""The list of labels of texts, and their taxonomy."""

import logging
from functools import cached_property
from typing import Optional

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import require
from seal.files.format_sniffing import to_be_converted
from seal.files.names import clean_label, clean_name
from seal.files.paths import not_empty
from seal.files.taxonomy import CircularTaxonomy, Taxonomy
from seal.files.text_lines import text_lines

logger = logging.getLogger(__name__)

# From this many labels on, those of a path should have one in the taxonomy.
_MANY = 10


class LabelScheme:
    """
    A list of labels and a taxonomy, each read from a file or absent. The files are read only when they are needed: a
    model may predict on a machine without its training data.

    # Parameters

    labels : `Optional[str]`
        A file with the name of a label a line.
    taxonomy : `Optional[str]`
        A file that says which label is below which (see `read_taxonomy_file`).
    ancestors : `bool`
        Whether to give a text all ancestors of its labels.

    # Raises

    `ConfigurationError` if ancestors are asked for and no taxonomy is named.
    """

    def __init__(self, labels: Optional[str], taxonomy: Optional[str], ancestors: bool) -> None:
        if ancestors and taxonomy is None:
            raise ConfigurationError("dataset_reader.ancestors: set 'taxonomy' too, which says what they are.")
        self.labels_path, self._taxonomy_path, self._ancestors = labels, taxonomy, ancestors
        self._ancestors_of: dict[str, list[str]] = {}

    @cached_property
    def _known(self) -> Optional[dict[str, None]]:
        """The listed labels as the keys of a dictionary, for look-ups; `None` without a list."""
        return None if self.labels_path is None else _read_names(self.labels_path)

    @cached_property
    def _of_file(self) -> Optional[Taxonomy]:
        return None if self._taxonomy_path is None else read_taxonomy_file(self._taxonomy_path)

    @cached_property
    def _taxonomy(self) -> Optional[Taxonomy]:
        return None if self._of_file is None else self._of_file.with_labels(self._known or ())

    def names(self) -> Optional[list[str]]:
        """The listed labels; `None` without a list."""
        return None if self._known is None else list(self._known)

    def taxonomy(self) -> Optional[Taxonomy]:
        """The taxonomy of the file, with the listed labels as its first ones; `None` without a file."""
        return self._taxonomy

    def complete(self, labels: list[str], source: str) -> list[str]:
        """
        The labels of a text and, if `ancestors` is set, their ancestors. It is an error if one is not among the listed
        ones.
        """
        for label in labels:
            if self._known is not None and label not in self._known:
                raise ConfigurationError(f"{source}: the label '{label}' is not in {self.labels_path}.")
        if not self._ancestors:
            return labels
        closed = dict.fromkeys(labels)
        for label in labels:
            if label not in self._ancestors_of:
                self._ancestors_of[label] = self._above(label)
            closed.update(dict.fromkeys(self._ancestors_of[label]))
        return list(closed)

    def check_placed(self, labels: list[str], file_path: str) -> None:
        """
        Checks, if `ancestors` is set, that the taxonomy has the texts' labels: a taxonomy of other labels or spellings
        would add no ancestors. It is an error if it lacks all of the listed labels or, without a list, all of at least
        10 `labels` that a path has: a taxonomy may lack those without ancestors. How many it lacks is logged.
        """
        if not self._ancestors:
            return
        placed = set(require(self._of_file, "dataset_reader.taxonomy").labels)
        lacking = [label for label in labels if label not in placed]
        if not lacking:
            return
        listed = self.names()
        wanted, source = (labels, file_path) if listed is None else (listed, self.labels_path)
        if not placed.intersection(wanted) and (listed is not None or len(labels) >= _MANY):
            raise ConfigurationError(
                f"{self._taxonomy_path}: it has no label of {source}, such as '{lacking[0]}'; set "
                "dataset_reader.taxonomy to one of these labels, or leave out 'ancestors'."
            )
        logger.warning(
            "%s: %s lacks %d of %d labels, such as '%s', which have no ancestors",
            file_path,
            self._taxonomy_path,
            len(lacking),
            len(labels),
            lacking[0],
        )

    def _above(self, label: str) -> list[str]:
        """The ancestors of a label; empty if the taxonomy lacks the label."""
        taxonomy = require(self._taxonomy, "dataset_reader.taxonomy")
        found = taxonomy.ancestors(label) if label in taxonomy.labels else []
        for above in found:
            if self._known is not None and above not in self._known:
                raise ConfigurationError(
                    f"{self._taxonomy_path}: the label '{above}', above '{label}', is not in {self.labels_path}."
                )
        return found


def _read_names(path: str) -> dict[str, None]:
    names: dict[str, None] = {}
    for number, line in text_lines(path, "the name of a label a line"):
        if line.isspace():
            continue
        name = clean_label(line.strip(), f"{path}:{number}: the label")
        if name in names:
            raise ConfigurationError(f"{path}:{number}: the label {name!r} comes a second time.")
        names[name] = None
    if not names:
        raise ConfigurationError(f"{path}: it lists no label.")
    return names


_EXPECTED = "lines of a label, a tab and the labels below it"
# Names of the node above all labels, which is not a label.
_ROOTS = {"root", "none"}


def read_taxonomy_file(path: str) -> Taxonomy:
    """
    Reads a taxonomy, a forest or a graph, from lines `parent<TAB>child<TAB>child...`, with one child (BGC's
    `hierarchy.txt`) or more (the `.taxonomy` files of hierarchical classification). Between them a line may have one
    label, which has no edge (BGC's `Humor`).

    Blank lines are skipped. A parent `Root` or `None`, in upper or lower case, is the node above all labels, and no
    label.

    # Raises

    `ConfigurationError` at a line that is no edge, if there is no line, and if the edges have a cycle, also one through
    the node above all labels; then with the last of the lines that make it.
    """
    names: dict[str, None] = {}
    # The line of each edge.
    edges: dict[tuple[str, str], int] = {}
    tabs, alone = False, None
    lines = ((number, line) for number, line in text_lines(path, _EXPECTED) if not line.isspace())
    for number, line in not_empty(lines, f"{path}:1: the taxonomy is empty; a line is a parent, a tab and its child."):
        where = f"{path}:{number}"
        parent, *children = (clean_name(name, f"{where}: the label") for name in _edge(line, where))
        tabs = tabs or "\t" in line
        if not children and parent.lower() not in _ROOTS:
            alone = alone or _no_edge(line, f"{path}:{number}")
        names.update((name, None) for name in (parent, *children) if name.lower() not in _ROOTS)
        if parent.lower() not in _ROOTS:
            root = next((child for child in children if child.lower() in _ROOTS), None)
            if root is not None:
                raise ConfigurationError(
                    f"{path}:{number}: The taxonomy goes round in a circle: '{root}' is above all labels, and cannot "
                    f"be below '{parent}'."
                )
            for child in children:
                edges.setdefault((parent, child), number)
    if alone is not None and not tabs:
        # Without any tab the file is a list of labels, or has blanks in place of tabs.
        raise alone
    try:
        return Taxonomy(list(names), edges)
    except CircularTaxonomy as error:
        number = max(edges[edge] for edge in error.edges)
        raise ConfigurationError(f"{path}:{number}: {error.message}") from error


def _edge(line: str, where: str) -> list[str]:
    """The parent and its children."""
    if line.startswith("parent:"):
        raise to_be_converted(where.rpartition(":")[0], "RCV1's file of topics", "rcv1-topics", ".tsv")
    cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")]
    if not all(cells):
        raise _no_edge(line, where)
    return cells


def _no_edge(line: str, where: str) -> ConfigurationError:
    found = line[:60].strip()
    return ConfigurationError(f"{where}: expected a parent and its children with tabs between, found {found!r}.")
