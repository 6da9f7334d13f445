"""
Feature-based multi-label files as arrays: ARFF with the labels of Mulan, MEKA or KU Leuven.

Every mistake in a file is reported by a `ConfigurationError` of one sentence that starts with `file:line`.
"""

import logging
import os
from dataclasses import dataclass, field
from typing import Dict, List, NamedTuple, Optional, Sequence, Union

import numpy
from scipy import sparse

from allennlp.common.checks import ConfigurationError

from seal.common.quoting import short
from seal.common.taxonomy import Taxonomy
from seal.dataset_readers.arff import ArffTable, read_arff
from seal.dataset_readers.feature_columns import feature_columns, fill_missing, is_binary
from seal.dataset_readers.label_sources import hierarchy_of, meka_columns, read_mulan_xml
from seal.dataset_readers.tensor_table import Matrix

logger = logging.getLogger(__name__)

_MANY_VALUES = 100


@dataclass
class MultilabelData:
    """
    One split of a data set.

    # Parameters

    features : `Union[numpy.ndarray, scipy.sparse.csr_array]`
        float32, shape (rows, features), finite; sparse where the file is.
    labels : `scipy.sparse.csr_array`
        Boolean, shape (rows, labels), indices sorted.
    feature_names : `List[str]`
        An attribute's name, or `name=value` for a value of a nominal attribute that is not yes/no.
    label_names : `List[str]`
    source : `List[str]`
        `file:line` of each row.
    means : `numpy.ndarray`
        float32, shape (features,): the values of missing features with `missing="mean"`.
    taxonomy : `Optional[Taxonomy]`
        That of a hierarchical attribute or a nested XML; its labels are `label_names`, in order.
    wheres : `Dict[str, str]`
        `file:line` of the attribute that gives a feature or label.
    """

    features: Matrix
    labels: sparse.csr_array
    feature_names: List[str]
    label_names: List[str]
    source: List[str]
    means: numpy.ndarray
    taxonomy: Optional[Taxonomy] = None
    wheres: Dict[str, str] = field(default_factory=dict)

    def columns_of(self, names: Sequence[str]) -> List[int]:
        """The column of each of these features."""
        places = {name: column for column, name in enumerate(self.feature_names)}
        return [places[name] for name in names]


def read_multilabel(
    paths: Union[str, Sequence[str]],
    label_xml: Optional[str] = None,
    labels: Optional[Sequence[str]] = None,
    drop_attributes: Sequence[str] = (),
    missing: str = "mean",
    statistics: Optional[MultilabelData] = None,
    hierarchy: str = "auto",
    repeated_names: str = "error",
) -> MultilabelData:
    """
    Read ARFF files as one split.

    The labels are those of `labels`, else of `label_xml`, else of the one hierarchical attribute, else of
    MEKA's `-C n` in the relation. A nominal attribute with the values YES and NO, TRUE and FALSE, or 1 and 0
    (in any case and order) is 1 for the first of each pair; any other becomes one column a value. A row of a
    hierarchical attribute holds nodes between `@`, and every ancestor of a label becomes a label; labels of
    an XML stay as the file has them.

    # Parameters

    paths : `Union[str, Sequence[str]]`
        One file or several with the same attributes, in this order.
    label_xml : `Optional[str]`
        Mulan's XML: label names, in the order of the columns of `labels`.
    labels : `Optional[Sequence[str]]`
        Names of the attributes that are labels.
    drop_attributes : `Sequence[str]`, optional (default = `()`)
        Names of attributes to leave out, such as identifiers.
    missing : `str`, optional (default = `"mean"`)
        What a missing feature is: `"mean"`, the mean of the column over the values that are not missing; `"zero"`, 0;
        `"error"`, an error. The columns of a nominal attribute have means, too: the share of each value.
    statistics : `Optional[MultilabelData]`
        The split whose means to take (the training split); this one's own where it is left out. Its features
        and labels must have the same names, in any order.
    hierarchy : `str`, optional (default = `"auto"`)
        `"tree"`, `"graph"` or `"auto"`; see `hierarchy_of`.
    repeated_names : `str`, optional (default = `"error"`)
        See `read_arff`.

    # Returns

    `MultilabelData`

    # Raises

    `ConfigurationError`
        At everything in the files or the parameters that is not as above.
    """
    if missing not in ("mean", "zero", "error"):
        raise ConfigurationError(f"dataset_reader.missing must be 'mean', 'zero' or 'error', found {missing!r}.")
    for key, names in (("labels", labels or ()), ("drop_attributes", drop_attributes)):
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise ConfigurationError(f"dataset_reader.{key} must be a list of attribute names, found {short(names)}.")
    if labels is not None and label_xml is not None:
        raise ConfigurationError("dataset_reader: give the labels either by 'label_xml' or by 'labels', not by both.")
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not paths:
        raise ConfigurationError("the list of the files to read is empty; name one or more.")
    plan, features, gold, sources = None, [], [], []
    for path in paths:
        table = read_arff(path, repeated_names)
        if plan is None:
            plan = _Plan(table, label_xml, labels, drop_attributes, hierarchy)
        else:
            plan.check_same(table)
        part, names = feature_columns(table, plan.features)
        features.append(part)
        gold.append(plan.labels_of(table))
        sources += [f"{table.path}:{line}" for line in table.lines.tolist()]
    given = None
    if statistics is not None:
        training = statistics.source[0].rpartition(":")[0]
        _check_names(plan, "label", plan.label_names, statistics.label_names, training)
        _check_names(plan, "feature", names, statistics.feature_names, training)
        given = statistics.means[statistics.columns_of(names)]
    anywhere_sparse = any(sparse.issparse(part) for part in features)
    stacked = sparse.vstack(features, format="csr") if anywhere_sparse else numpy.concatenate(features)
    filled, means = fill_missing(stacked, names, sources, missing, given)
    labels_of_all = sparse.csr_array(sparse.vstack(gold, format="csr"))
    wheres = plan.wheres()
    return MultilabelData(filled, labels_of_all, names, plan.label_names, sources, means, plan.taxonomy, wheres)


class _Labels(NamedTuple):
    """
    The labels of a file, from one of their four sources.

    # Parameters

    names : `List[str]`
    taxonomy : `Optional[Taxonomy]`
    hierarchical : `Optional[int]`
        The column of the hierarchical attribute whose nodes the labels are; else each label is an attribute.
    wheres : `Dict[str, str]`
        `file:line` of each label of an XML.
    """

    names: List[str]
    taxonomy: Optional[Taxonomy] = None
    hierarchical: Optional[int] = None
    wheres: Dict[str, str] = {}


class _Plan:
    """Which columns of the first file are features and which labels; the other files must agree."""

    def __init__(
        self,
        table: ArffTable,
        label_xml: Optional[str],
        labels: Optional[Sequence[str]],
        drop_attributes: Sequence[str],
        hierarchy: str,
    ) -> None:
        self.first = table
        columns = {attribute.name: column for column, attribute in enumerate(table.attributes)}
        for name in drop_attributes:
            if name not in columns:
                raise ConfigurationError(f"{table.path}:1: no attribute {name!r} to drop.")
        found = _labels_of(table, label_xml, labels, drop_attributes, hierarchy)
        self.label_names, self.taxonomy, self.hierarchical = found.names, found.taxonomy, found.hierarchical
        if self.hierarchical is not None:
            self.label_columns = [self.hierarchical]
        else:
            for name in self.label_names:
                if name not in columns:
                    where = found.wheres.get(name, "dataset_reader.labels")
                    raise ConfigurationError(f"{where}: {table.path} has no attribute for the label {name!r}.")
                if name in drop_attributes:
                    where = found.wheres.get(name, f"{table.path}:1")
                    raise ConfigurationError(f"{where}: the label {name!r} is in 'drop_attributes'.")
            self.label_columns = [columns[name] for name in self.label_names]
        left_out = {columns[name] for name in drop_attributes}.union(self.label_columns)
        self.features = [column for column in range(len(columns)) if column not in left_out]
        self.used = self.features + self.label_columns
        self._check(table)

    def _check(self, table: ArffTable) -> None:
        if not self.features:
            raise ConfigurationError(f"{table.path}:1: no attribute is left to be a feature.")
        for column in self.features:
            attribute = table.attributes[column]
            where = f"{table.path}:{attribute.line}"
            if attribute.kind not in ("numeric", "nominal"):
                raise ConfigurationError(
                    f"{where}: the {attribute.kind} attribute {attribute.name!r} is no feature; name it in "
                    "'drop_attributes'."
                )
            if len(attribute.values) > _MANY_VALUES:
                logger.warning(
                    f"{where}: the nominal attribute {attribute.name!r} becomes {len(attribute.values)} "
                    "features; if it is an identifier, name it in 'drop_attributes'."
                )
        for column in self.label_columns:
            attribute = table.attributes[column]
            if column != self.hierarchical and not (attribute.kind == "numeric" or is_binary(attribute)):
                raise ConfigurationError(
                    f"{table.path}:{attribute.line}: the label {attribute.name!r} must be numeric, {{0,1}}, "
                    f"{{NO,YES}} or {{FALSE,TRUE}}, found {attribute.kind} "
                    f"{{{','.join(attribute.values)[:60]}}}."
                )

    def wheres(self) -> Dict[str, str]:
        """`file:line` of the attribute of each feature and label."""
        found = {}
        for column in self.used:
            attribute = self.first.attributes[column]
            names = [attribute.name, *(f"{attribute.name}={value}" for value in attribute.values)]
            if column == self.hierarchical:
                names = self.label_names
            found.update(dict.fromkeys(names, f"{self.first.path}:{attribute.line}"))
        return found

    def check_same(self, table: ArffTable) -> None:
        """Raise where another file's attributes in use differ from the first one's."""
        if len(table.attributes) != len(self.first.attributes):
            raise ConfigurationError(
                f"{table.path}:1: the file has {len(table.attributes)} attributes, {self.first.path} has "
                f"{len(self.first.attributes)}."
            )
        for column in self.used:
            ours, other = self.first.attributes[column], table.attributes[column]
            if (ours.name, ours.kind, ours.values) != (other.name, other.kind, other.values):
                raise ConfigurationError(
                    f"{table.path}:{other.line}: the attribute {other.name!r} is not declared as its "
                    f"counterpart {ours.name!r} in {self.first.path}:{ours.line}."
                )

    def labels_of(self, table: ArffTable) -> sparse.csr_array:
        """The label matrix of a file."""
        if self.hierarchical is not None:
            return self._nodes_of(table)
        matrix = sparse.csr_array(feature_columns(table, self.label_columns)[0])
        matrix.eliminate_zeros()
        wrong = numpy.flatnonzero(matrix.data != 1)
        if len(wrong):
            row = int(numpy.searchsorted(matrix.indptr, wrong[0], side="right")) - 1
            value, name = matrix.data[wrong[0]], self.label_names[matrix.indices[wrong[0]]]
            found = "it is missing" if numpy.isnan(value) else f"found {value:g}"
            raise ConfigurationError(
                f"{table.path}:{table.lines[row]}: the label {name!r} must be 0 or 1, {found}."
            )
        matrix = matrix.astype(bool)
        matrix.sort_indices()
        return matrix

    def _nodes_of(self, table: ArffTable) -> sparse.csr_array:
        columns = {name: column for column, name in enumerate(self.label_names)}
        codes = table.codes[:, [self.hierarchical]]
        codes = (codes.toarray() if sparse.issparse(codes) else codes)[:, 0]
        indptr, indices = [0], []
        for line, code in zip(table.lines.tolist(), codes.tolist()):
            text = "" if code != code else table.texts[self.hierarchical][int(code)]
            for node in text.split("@"):
                if node not in columns:
                    what = f"{node[:40]!r} is no node of the hierarchy" if node else "a label is missing"
                    raise ConfigurationError(f"{table.path}:{line}: {what}.")
            indices += sorted({columns[node] for node in text.split("@")})
            indptr.append(len(indices))
        shape = (len(table.lines), len(columns))
        given = sparse.csr_array((numpy.ones(len(indices), bool), indices, indptr), shape=shape)
        return self.taxonomy.close(given)


def _labels_of(
    table: ArffTable,
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
    for column, attribute in enumerate(table.attributes):
        if attribute.kind == "hierarchical" and attribute.name not in drop_attributes:
            taxonomy = hierarchy_of(f"{table.path}:{attribute.line}", attribute.values, hierarchy)
            return _Labels(taxonomy.labels, taxonomy, column)
    where = f"{table.path}:{table.attributes[-1].line}"
    found = meka_columns(where, table.relation, len(table.attributes))
    return _Labels([table.attributes[column].name for column in found])


def _check_names(plan: _Plan, what: str, names: List[str], in_training: List[str], training: str) -> None:
    """Raise where a file's names are not those of the training file, whatever their order."""
    ours, theirs, wheres = set(names), set(in_training), plan.wheres()
    for name in names + in_training:
        if name not in ours or name not in theirs:
            found = f"has a {what} {name!r} that is not in" if name in ours else f"lacks the {what} {name!r} of"
            where = wheres.get(name, f"{plan.first.path}:1")
            raise ConfigurationError(
                f"{where}: the file {found} {training}, the training file that dataset_reader.statistics_from names."
            )
