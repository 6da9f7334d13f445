"""
Which columns of feature-based multi-label files are features, and which labels, by the three places where such files
name their labels: Mulan's XML, MEKA's relation and KU Leuven's hierarchies. Nominal values of features are zeros and
ones, and missing values are filled.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional
from xml.parsers import expat

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.dataset_readers.arff import ArffHeader, ArffTable, Attribute, stripped_lines
from seal.files.kept_arrays import Matrix, pieces
from seal.files.names import clean_name, composed
from seal.files.taxonomy import Taxonomy

logger = logging.getLogger(__name__)

# A nominal attribute with more values may be an identifier.
_MANY_VALUES = 100


class _Labels(NamedTuple):
    """
    The labels of a file, from one of their four sources.

    # Parameters

    names : `list[str]`
    taxonomy : `Optional[Taxonomy]`
    hierarchical : `Optional[int]`
        The column of the hierarchical attribute whose nodes the labels are; else each label is an attribute.
    wheres : `dict[str, str]`
        `file:line` of each label of an XML.
    """

    names: list[str]
    taxonomy: Optional[Taxonomy] = None
    hierarchical: Optional[int] = None
    wheres: dict[str, str] = {}


class ColumnPlan:
    """
    Which columns of a split's first file are features and which labels; its other files must agree.

    # Parameters

    header : `ArffHeader`
        Of the first file.
    label_xml, labels, drop_attributes, hierarchy :
        As for `read_multilabel`.

    # Attributes

    features : `list[int]`
        The columns that are features, in the order of the file.
    feature_names : `list[str]`
        An attribute's name, or `name=value` for a value of a nominal attribute that is not yes/no.
    label_names : `list[str]`
    taxonomy : `Optional[Taxonomy]`
        That of a hierarchical attribute or a nested XML.

    # Raises

    `ConfigurationError` where the file has no attribute of a name, or one of a type that is of no use.
    """

    def __init__(
        self,
        header: ArffHeader,
        label_xml: Optional[str],
        labels: Optional[Sequence[str]],
        drop_attributes: Sequence[str],
        hierarchy: str,
    ) -> None:
        self._first = header
        columns: dict[str, int] = {}
        for column, attribute in enumerate(header.attributes):
            first = columns.setdefault(composed(attribute.name), column)
            if first != column:
                raise ConfigurationError(
                    f"{header.path}:{attribute.line}: the attribute {attribute.name!r} looks like that of line "
                    f"{header.attributes[first].line}, and differs only in how its accents are encoded; rename one."
                )
        for name in drop_attributes:
            if name not in columns:
                raise ConfigurationError(f"{header.path}:1: no attribute {name!r} to drop.")
        found = _labels_of(header, label_xml, labels, drop_attributes, hierarchy)
        self.label_names, self.taxonomy, self._hierarchical = found.names, found.taxonomy, found.hierarchical
        if self._hierarchical is not None:
            self._label_columns = [self._hierarchical]
        else:
            for name in self.label_names:
                if name not in columns:
                    where = found.wheres.get(name, "dataset_reader.labels")
                    raise ConfigurationError(f"{where}: {header.path} has no attribute for the label {name!r}.")
                if name in drop_attributes:
                    where = found.wheres.get(name, f"{header.path}:1")
                    raise ConfigurationError(f"{where}: the label {name!r} is in 'drop_attributes'.")
            self._label_columns = [columns[name] for name in self.label_names]
            for name, column in zip(self.label_names, self._label_columns):
                clean_name(name, f"{header.path}:{header.attributes[column].line}: the label")
        left_out = {columns[name] for name in drop_attributes}.union(self._label_columns)
        self.features = [column for column in range(len(columns)) if column not in left_out]
        self._used = self.features + self._label_columns
        self._check(header)
        self._feature_plan = FeaturePlan(header.attributes, self.features)
        self._label_plan = None
        if self._hierarchical is None:
            self._label_plan = FeaturePlan(header.attributes, self._label_columns)
        self.feature_names = self._feature_plan.names

    def _check(self, header: ArffHeader) -> None:
        if not self.features:
            raise ConfigurationError(f"{header.path}:1: no attribute is left to be a feature.")
        for column in self.features:
            attribute = header.attributes[column]
            where = f"{header.path}:{attribute.line}"
            if attribute.kind not in ("numeric", "nominal"):
                raise ConfigurationError(
                    f"{where}: the {attribute.kind} attribute {attribute.name!r} cannot be a feature; name it in "
                    "'drop_attributes'."
                )
            if len(attribute.values) > _MANY_VALUES:
                logger.warning(
                    f"{where}: the nominal attribute {attribute.name!r} becomes {len(attribute.values)} "
                    "features; if it is an identifier, name it in 'drop_attributes'."
                )
        for column in self._label_columns:
            attribute = header.attributes[column]
            if not attribute.name.strip():
                raise ConfigurationError(f"{header.path}:{attribute.line}: the label has no name.")
            if column != self._hierarchical and not (attribute.kind == "numeric" or is_binary(attribute)):
                raise ConfigurationError(
                    f"{header.path}:{attribute.line}: the label {attribute.name!r} must be numeric, {{0,1}}, "
                    f"{{NO,YES}} or {{FALSE,TRUE}}, found {attribute.kind} "
                    f"{{{','.join(attribute.values)[:60]}}}."
                )

    def wheres(self) -> dict[str, str]:
        """`file:line` of the attribute of each feature and label."""
        found, label_columns = {}, set(self._label_columns)
        for column in self._used:
            attribute = self._first.attributes[column]
            names = [attribute.name, *(f"{attribute.name}={value}" for value in attribute.values)]
            if column in label_columns:
                names = self.label_names if column == self._hierarchical else [composed(attribute.name)]
            found.update(dict.fromkeys(names, f"{self._first.path}:{attribute.line}"))
        return found

    def check_same(self, table: ArffHeader) -> None:
        """Refuses another file of the split whose attributes in use differ from the first one's."""
        if len(table.attributes) != len(self._first.attributes):
            raise ConfigurationError(
                f"{table.path}:1: the file has {len(table.attributes)} attributes, {self._first.path} has "
                f"{len(self._first.attributes)}."
            )
        for column in self._used:
            ours, other = self._first.attributes[column], table.attributes[column]
            if (ours.name, ours.kind, ours.values) != (other.name, other.kind, other.values):
                raise ConfigurationError(
                    f"{table.path}:{other.line}: the attribute {other.name!r} is not declared as its "
                    f"counterpart {ours.name!r} in {self._first.path}:{ours.line}."
                )

    def features_of(self, table: ArffTable) -> Matrix:
        """The features, `(rows, features)`: NaN where a value is missing, sparse where the table is."""
        return self._feature_plan.features_of(table.codes)

    def labels_of(self, table: ArffTable) -> sparse.csr_array:
        """
        The labels of rows of the split: boolean, shape (rows, labels), indices sorted. Each must be 0 or 1, or a node
        of the hierarchy.
        """
        if self._hierarchical is not None:
            return self._nodes_of(table)
        matrix = sparse.csr_array(self._label_plan.features_of(table.codes))
        matrix.eliminate_zeros()
        wrong = numpy.flatnonzero(matrix.data != 1)
        if len(wrong):
            row = int(numpy.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
            value, name = matrix.data[wrong[0]], self.label_names[matrix.indices[wrong[0]]]
            found = "it is missing" if numpy.isnan(value) else f"found {value:g}"
            raise ConfigurationError(f"{table.path}:{table.lines[row]}: the label {name!r} must be 0 or 1, {found}.")
        matrix = matrix.astype(bool)
        matrix.sort_indices()
        return matrix

    def check_names(self, what: str, names: list[str], in_training: list[str], training: str) -> None:
        """
        Refuses names of features or labels (`what`) of which the split or the training file lacks one, whatever their
        order.
        """
        ours, theirs, wheres = set(names), set(in_training), self.wheres()
        for name in names + in_training:
            if name not in ours or name not in theirs:
                found = f"has a {what} {name!r} that is not in" if name in ours else f"lacks the {what} {name!r} of"
                where = wheres.get(name, f"{self._first.path}:1")
                raise ConfigurationError(
                    f"{where}: the file {found} {training}, the training file that dataset_reader.statistics_from "
                    "names."
                )

    def _nodes_of(self, table: ArffTable) -> sparse.csr_array:
        columns = {name: column for column, name in enumerate(self.label_names)}
        codes = table.codes[:, [self._hierarchical]]
        codes = (codes.toarray() if sparse.issparse(codes) else codes)[:, 0]
        indptr, indices = [0], []
        for line, code in zip(table.lines.tolist(), codes.tolist()):
            text = "" if code != code else table.texts[self._hierarchical][int(code)]
            nodes = [composed(node) for node in text.split("@")]
            for node in nodes:
                if node not in columns:
                    what = f"{node[:40]!r} is not a node of the hierarchy" if node else "a label is missing"
                    raise ConfigurationError(f"{table.path}:{line}: {what}.")
            indices += sorted({columns[node] for node in nodes})
            indptr.append(len(indices))
        shape = (len(table.lines), len(columns))
        given = sparse.csr_array((numpy.ones(len(indices), bool), indices, indptr), shape=shape)
        return self.taxonomy.close(given)


def _labels_of(
    header: ArffHeader,
    label_xml: Optional[str],
    labels: Optional[Sequence[str]],
    drop_attributes: Sequence[str],
    hierarchy: str,
) -> _Labels:
    """The labels by `labels`, else by the XML, else by a hierarchical attribute, else by MEKA's relation."""
    if labels is not None:
        names = list(labels)
        if not names or len(set(names)) < len(names):
            raise ConfigurationError("dataset_reader.labels must name one or more attributes, each once.")
        return _Labels(names)
    if label_xml is not None:
        lines, edges = read_mulan_xml(label_xml)
        taxonomy = Taxonomy(list(lines), edges) if edges else None
        return _Labels(list(lines), taxonomy, wheres={name: f"{label_xml}:{line}" for name, line in lines.items()})
    for column, attribute in enumerate(header.attributes):
        if attribute.kind == "hierarchical" and attribute.name not in drop_attributes:
            where = f"{header.path}:{attribute.line}"
            nodes = [clean_name(node, f"{where}: the label") for node in attribute.values]
            taxonomy = hierarchy_of(where, nodes, hierarchy)
            return _Labels(taxonomy.labels, taxonomy, column)
    where = f"{header.path}:{header.attributes[-1].line}"
    found = meka_columns(where, header.relation, len(header.attributes))
    return _Labels([composed(header.attributes[column].name) for column in found])


# No, then yes. The words decide, and not their order in the file: Mulan's genbase lists {YES, NO}.
_PAIRS = (("no", "yes"), ("false", "true"), ("0", "1"))


def is_binary(attribute: Attribute) -> bool:
    """Whether the attribute is nominal with YES and NO, TRUE and FALSE or 1 and 0, in any case and order."""
    return attribute.kind == "nominal" and _pair(attribute) is not None


class FeaturePlan:
    """
    How columns of numeric or nominal attributes become features: a numeric attribute one column as it is, a binary one
    a column of 0 and 1, and any other nominal one a column for each value.

    # Parameters

    attributes : `Sequence[Attribute]`
        All of a file.
    columns : `Sequence[int]`
        The places of those that become features.

    # Attributes

    names : `list[str]`
        The features' names.
    """

    def __init__(self, attributes: Sequence[Attribute], columns: Sequence[int]) -> None:
        # Each feature is a column of codes: itself where `place` is None, else whether the code is `place`.
        self._plan: list[tuple[int, Optional[int]]] = []
        self.names: list[str] = []
        for column in columns:
            attribute = attributes[column]
            if attribute.kind == "numeric":
                self._plan.append((column, None))
                self.names.append(attribute.name)
            elif is_binary(attribute):
                # The place of "yes"; a list that lacks it never has that code.
                lower = [value.lower() for value in attribute.values]
                yes = _pair(attribute)[1]
                place = lower.index(yes) if yes in lower else -1
                self._plan.append((column, None if place == 1 else place))
                self.names.append(attribute.name)
            else:
                self._plan += [(column, place) for place in range(len(attribute.values))]
                self.names += [f"{attribute.name}={value}" for value in attribute.values]

    def features_of(self, codes: Matrix) -> Matrix:
        """Of codes, `(rows, features)`: NaN where a value is missing, sparse where the codes are."""
        if sparse.issparse(codes):
            return _sparse_columns(codes, self._plan)
        result = codes[:, [column for column, _ in self._plan]]
        for feature, (_, place) in enumerate(self._plan):
            if place is not None:
                result[:, feature] = _is_place(result[:, feature], place)
        return result


def fill_missing(
    matrix: Matrix,
    names: Sequence[str],
    sources: Sequence[str],
    missing: str,
    means: Optional[numpy.ndarray],
    write: Callable[[int, numpy.ndarray], None],
) -> numpy.ndarray:
    """
    Replaces missing values, piece by piece.

    # Parameters

    matrix : `Union[numpy.ndarray, scipy.sparse.csr_array]`
        NaN where a value is missing.
    names : `Sequence[str]`
        The names of the columns, for messages.
    sources : `Sequence[str]`
        `file:line` of the rows, for messages.
    missing : `str`
        `"mean"`, `"zero"` or `"error"`.
    means : `Optional[numpy.ndarray]`
        The values to fill in with `"mean"`. `None`: the matrix's own means over the values that are not missing (0 for
        a column where all are missing).
    write : `Callable[[int, numpy.ndarray], None]`
        Puts values in the place of the matrix's rows, or stored values, from one on.

    # Returns

    `numpy.ndarray`
        The means.

    # Raises

    `ConfigurationError`
        At the first missing value with `"error"`.
    """
    # Summed in float64: the rows of a large file would round in float32.
    totals, absent = numpy.zeros(len(names)), numpy.zeros(len(names), dtype=numpy.int64)
    for start, values, columns in _pieces(matrix):
        holes = numpy.isnan(values)
        if holes.any():
            of_hole = columns[holes] if columns is not None else holes.nonzero()[1]
            absent += numpy.bincount(of_hole, minlength=len(names))
            if missing == "error":
                place = start + int(holes.nonzero()[0][0])
                row = place if columns is None else int(numpy.searchsorted(matrix.indptr, place, side="right")) - 1
                raise ConfigurationError(
                    f"{sources[row]}: the value of {names[of_hole[0]]!r} is missing; set dataset_reader.missing to "
                    "'zero', or to 'mean' and dataset_reader.statistics_from to the training file."
                )
        if columns is None:
            totals += numpy.nansum(values, axis=0, dtype=numpy.float64)
        else:
            totals += numpy.bincount(columns, numpy.nan_to_num(values).astype(float), len(names))
    if means is None:
        means = (totals / numpy.maximum(len(sources) - absent, 1)).astype(numpy.float32)
    if absent.any():
        for start, values, columns in _pieces(matrix):
            holes = numpy.isnan(values)
            if holes.any():
                of_hole = columns[holes] if columns is not None else holes.nonzero()[1]
                filled = values.copy()
                filled[holes] = means[of_hole] if missing == "mean" else 0
                write(start, filled)
    return means


def _pieces(matrix: Matrix) -> Iterator[tuple[int, numpy.ndarray, Optional[numpy.ndarray]]]:
    """Pieces of the rows, or of the stored values with their columns, each with the place where it begins."""
    if sparse.issparse(matrix):
        for start, end in pieces(len(matrix.data)):
            yield start, matrix.data[start:end], matrix.indices[start:end]
    else:
        for start, end in pieces(*matrix.shape):
            yield start, matrix[start:end], None


def _pair(attribute: Attribute) -> Optional[tuple[str, str]]:
    lower = [value.lower() for value in attribute.values]
    fits = (pair for pair in _PAIRS if len(set(lower)) == len(lower) and set(lower) <= set(pair))
    return next(fits, None)


def _is_place(codes: numpy.ndarray, place: int) -> numpy.ndarray:
    return numpy.where(numpy.isnan(codes), codes, codes == place).astype(numpy.float32)


def _sparse_columns(codes: sparse.csr_array, plan: Sequence[tuple[int, Optional[int]]]) -> sparse.csr_array:
    by_column = sparse.csc_array(codes)
    result = by_column[:, [column for column, _ in plan]]
    changed = {feature: place for feature, (_, place) in enumerate(plan) if place is not None}
    if changed:
        # Whole columns of codes, and not only the stored entries: a value that a sparse row leaves out has code 0,
        # which may be a yes.
        parts, start = [], 0
        for feature, place in changed.items():
            parts.append(result[:, start:feature])
            column = _is_place(result[:, [feature]].toarray(), place)
            parts.append(sparse.csc_array(column))
            start = feature + 1
        result = sparse.hstack(parts + [result[:, start:]], format="csc")
    result = sparse.csr_array(result)
    result.sort_indices()
    return result


#: The kinds of hierarchy that a `hierarchical` attribute may list.
HIERARCHIES = ("auto", "tree", "graph")
#: The most levels of a tree, whose nodes are named by their paths.
MOST_LEVELS = 100

_COUNT = re.compile(r"(?:^|[\s:])-C\s+([+-]?\d{1,9})(?=\s|$|-)")
# Weka's name of a filter that moved, removed or added columns.
_MOVED = re.compile(r"filters\.\w+\.attribute\.(?:Remove|Reorder|Add|Copy|Swap)", re.IGNORECASE)


def read_mulan_xml(path: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """
    The labels of a Mulan XML file, `<labels><label name="a"><label name="b"/></label></labels>`, in its order, each
    with its line; and `(parent, child)` for every label that is nested in another.
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

    def refuse(name: str, *_: object) -> None:
        # Entities can make a small file endless, and no Mulan file has any.
        raise ConfigurationError(f"{path}:{parser.CurrentLineNumber}: the XML declares the entity {name!r}.")

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = start, end, refuse
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
    The label columns that MEKA writes into the relation's name: `-C 3` for the first 3, `-C -3` for the last. It is an
    error if there is none, or a later filter of Weka has made it wrong.
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
    The taxonomy that a `hierarchical` attribute lists, with labels in the order in which the list first names them.

    A tree lists each node by its path (`01`, `01/02`, `01/02/03`): a node's parent is its path without the last part,
    listed or not. A graph lists edges (`root/a`, `a/b`, `c/b`): its nodes are the single parts, and `root` is not a
    label. `"auto"` takes it for a graph where every entry has two parts and one starts with `root`. A tree has at most
    `MOST_LEVELS` levels.
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
    if kind == "tree" and deepest > MOST_LEVELS:
        raise ConfigurationError(
            f"{where}: the hierarchy has an entry of {deepest:,} levels, and at most {MOST_LEVELS} are read; "
            "correct it."
        )
    # Dictionaries for sets that keep their order.
    labels: dict[str, None] = {}
    edges: dict[tuple[str, str], None] = {}
    for path in paths:
        names = path if kind == "graph" else ["/".join(path[: end + 1]) for end in range(len(path))]
        labels.update(dict.fromkeys(names))
        edges.update(dict.fromkeys(zip(names, names[1:])))
    if kind == "graph":
        if any(child == "root" for _, child in edges):
            raise ConfigurationError(f"{where}: the hierarchy puts 'root' below another node.")
        labels.pop("root", None)
        edges = {edge: None for edge in edges if edge[0] != "root"}
    try:
        return Taxonomy(list(labels), edges)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error.message}") from error
