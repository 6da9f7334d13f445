"""
Finds the labels of an ARFF file: from the settings, from Mulan's XML, from a hierarchical attribute (KU Leuven), or
from the name of the relation (MEKA).
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, Optional
from xml.parsers import expat

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import check_that
from seal.files.names import clean_name, composed
from seal.files.taxonomy import Taxonomy
from seal.tasks.multilabel.arff import ArffHeader, stripped_lines

#: The kinds of hierarchy that a `hierarchical` attribute may list.
HIERARCHIES = ("auto", "tree", "graph")
#: The most levels of a tree, whose nodes are named by their paths.
MOST_LEVELS = 100

_COUNT = re.compile(r"(?:^|[\s:])-C\s+([+-]?\d{1,9})(?=\s|$|-)")
# Weka's name of a filter that moved, removed or added columns.
_MOVED = re.compile(r"filters\.\w+\.attribute\.(?:Remove|Reorder|Add|Copy|Swap)", re.IGNORECASE)


class ArffLabels(NamedTuple):
    """
    The labels of a file, from one of their four sources.

    # Parameters

    names : `list[str]`
    taxonomy : `Optional[Taxonomy]`
    hierarchical : `Optional[int]`
        The column of the hierarchical attribute whose nodes are the labels; `None` if each label is an attribute.
    wheres : `dict[str, str]`
        `file:line` of each label of an XML.
    """

    names: list[str]
    taxonomy: Optional[Taxonomy] = None
    hierarchical: Optional[int] = None
    wheres: dict[str, str] = {}


def labels_of(
    header: ArffHeader,
    label_xml: Optional[str],
    labels: Optional[Sequence[str]],
    drop_attributes: Sequence[str],
    hierarchy: str,
) -> ArffLabels:
    """The labels from the first source given: `labels`, the XML, a hierarchical attribute, MEKA's relation."""
    if labels is not None:
        names = list(labels)
        fits = bool(names) and len(set(names)) == len(names)
        check_that(fits, "dataset_reader.labels", "one or more names of attributes, each once", names)
        return ArffLabels(names)
    if label_xml is not None:
        lines, edges = read_mulan_xml(label_xml)
        taxonomy = Taxonomy(list(lines), edges) if edges else None
        return ArffLabels(list(lines), taxonomy, wheres={name: f"{label_xml}:{line}" for name, line in lines.items()})
    for column, attribute in enumerate(header.attributes):
        if attribute.kind == "hierarchical" and attribute.name not in drop_attributes:
            where = f"{header.path}:{attribute.line}"
            nodes = [clean_name(node, f"{where}: the label") for node in attribute.values]
            taxonomy = hierarchy_of(where, nodes, hierarchy)
            return ArffLabels(taxonomy.labels, taxonomy, column)
    where = f"{header.path}:{header.attributes[-1].line}"
    label_columns = meka_columns(where, header.relation, len(header.attributes))
    return ArffLabels([composed(header.attributes[column].name) for column in label_columns])


def read_mulan_xml(path: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """
    Reads a Mulan XML file, `<labels><label name="a"><label name="b"/></label></labels>`. Returns the line of each
    label, in the file's order, and an edge `(parent, child)` for every nested label.
    """
    text = "\n".join(line for _, line in stripped_lines(path))
    labels: dict[str, int] = {}
    edges: list[tuple[str, str]] = []
    above: list[str] = []
    # The tree builders of the standard library do not keep line numbers; expat, under them, does.
    parser = expat.ParserCreate(encoding="utf-8")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] != "label":
            return
        where, name = f"{path}:{parser.CurrentLineNumber}", attributes.get("name")
        if not name:
            raise ConfigurationError(f"{where}: the <label> has no name.")
        name = clean_name(name, f"{where}: the label's name")
        if name in labels:
            raise ConfigurationError(f"{where}: the label {name!r} comes a second time.")
        labels[name] = parser.CurrentLineNumber
        if above:
            edges.append((above[-1], name))
        above.append(name)

    def end(tag: str) -> None:
        if tag.rpartition(":")[2] == "label":
            above.pop()

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        what = expat.errors.messages[error.code]
        raise ConfigurationError(f"{path}:{error.lineno}: invalid XML ({what}).") from error
    if not labels:
        raise ConfigurationError(f"{path}:1: the XML names no <label>.")
    return labels, edges


def meka_columns(where: str, relation: str, number_of_attributes: int) -> list[int]:
    """
    The label columns by MEKA's option in the relation's name: `-C 3` for the first 3, `-C -3` for the last 3.

    # Raises

    `ConfigurationError` if there is no option, or a later filter of Weka has moved the columns.
    """
    counts = _COUNT.findall(relation)
    if not counts:
        raise ConfigurationError(
            f"{where}: nothing says which attributes are labels: the relation has no '-C n' and no attribute "
            "is hierarchical; give Mulan's XML ('label_xml') or the names ('labels')."
        )
    if len(counts) > 1 or _MOVED.search(relation):
        # Mulan's medical is such a file: '-C 45', but its labels are the last 45.
        raise ConfigurationError(
            f"{where}: the relation says '-C {counts[0]}', but its name also tells of attributes moved "
            "since; give Mulan's XML ('label_xml') or the names ('labels')."
        )
    count = int(counts[0])
    if not 0 < abs(count) < number_of_attributes:
        raise ConfigurationError(
            f"{where}: the relation says '-C {count}', but the file has {number_of_attributes} attributes."
        )
    every = list(range(number_of_attributes))
    return every[:count] if count > 0 else every[count:]


def hierarchy_of(where: str, nodes: Sequence[str], kind: str = "auto") -> Taxonomy:
    """
    The taxonomy of a `hierarchical` attribute, with labels in the order of their first occurrence in its list.

    A tree lists each node by its path (`01`, `01/02`, `01/02/03`): a node's parent is its path without the last part,
    listed or not. A graph lists edges (`root/a`, `a/b`, `c/b`): its nodes are the single parts, and `root` is not a
    label. `"auto"` assumes a graph if every entry has two parts and one starts with `root`, otherwise a tree.
    A tree has at most `MOST_LEVELS` levels: the names of deeper ones would take gigabytes.
    """
    paths = [node.split("/") for node in nodes]
    for node, path in zip(nodes, paths):
        if not all(path):
            raise ConfigurationError(f"{where}: the hierarchy has the entry {node!r} with an empty part.")
    pairs = all(len(path) == 2 for path in paths)
    if kind == "auto":
        kind = "graph" if pairs and any(path[0] == "root" for path in paths) else "tree"
    if kind == "graph" and not pairs:
        odd = next(node for node, path in zip(nodes, paths) if len(path) != 2)
        raise ConfigurationError(f"{where}: the hierarchy has the entry {odd!r}, which is not 'parent/child'.")
    deepest = max(map(len, paths), default=0)
    shallow = kind == "graph" or deepest <= MOST_LEVELS
    check_that(shallow, f"{where}: the deepest entry of the hierarchy", f"of at most {MOST_LEVELS} levels", deepest)
    # Dictionaries for sets that keep their order.
    labels: dict[str, None] = {}
    edges: dict[tuple[str, str], None] = {}
    for path in paths:
        names = path if kind == "graph" else ["/".join(path[: end + 1]) for end in range(len(path))]
        labels.update(dict.fromkeys(names))
        edges.update(dict.fromkeys(zip(names, names[1:])))
    if kind == "graph":
        labels.pop("root", None)
        edges = {edge: None for edge in edges if edge[0] != "root"}
    try:
        return Taxonomy(list(labels), edges)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error.message}") from error
