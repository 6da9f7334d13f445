"""
Taxonomies in the files that text data sets come with.
"""

from allennlp.common.checks import ConfigurationError

from seal.files.names import clean_name
from seal.files.other_formats import to_be_converted
from seal.files.paths import not_empty
from seal.files.taxonomy import CircularTaxonomy, Taxonomy
from seal.files.text_lines import text_lines

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
