"""Divides the columns of an ARFF file into features and labels."""

import logging
from collections.abc import Sequence
from typing import Optional

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.common.setting_checks import require
from seal.files.matrices import Matrix
from seal.files.names import clean_name, composed
from seal.tasks.multilabel.arff import ArffHeader, ArffTable
from seal.tasks.multilabel.arff_labels import labels_of
from seal.tasks.multilabel.feature_columns import FeaturePlan, is_binary

logger = logging.getLogger(__name__)

# A nominal attribute with more values may be an identifier.
_MANY_VALUES = 100


class ColumnPlan:
    """
    Divides the columns of the files of a split into features and labels. The first file determines the division; the
    other files must declare the same attributes.

    # Parameters

    header : `ArffHeader`
        The header of the first file.
    label_xml, labels, drop_attributes, hierarchy :
        As in `read_multilabel`.

    # Attributes

    features : `list[int]`
        The columns of the features, in the order of the file.
    feature_names : `list[str]`
        An attribute's name, or `name=value` for a value of a nominal attribute that is not yes/no.
    label_names : `list[str]`
    taxonomy : `Optional[Taxonomy]`
        The taxonomy of a hierarchical attribute or a nested XML.

    # Raises

    `ConfigurationError` if a named attribute is missing, or an attribute has an unusable type.
    """

    def __init__(
        self,
        header: ArffHeader,
        label_xml: Optional[str],
        labels: Optional[Sequence[str]],
        drop_attributes: Sequence[str],
        hierarchy: str,
    ) -> None:
        self._header = header
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
        arff_labels = labels_of(header, label_xml, labels, drop_attributes, hierarchy)
        self.label_names, self.taxonomy = arff_labels.names, arff_labels.taxonomy
        self._hierarchical = arff_labels.hierarchical
        # The column of each label.
        if self._hierarchical is not None:
            self._label_columns = [self._hierarchical] * len(self.label_names)
        else:
            for name in self.label_names:
                if name not in columns:
                    where = arff_labels.wheres.get(name, "dataset_reader.labels")
                    raise ConfigurationError(f"{where}: {header.path} has no attribute for the label {name!r}.")
                clean_name(name, f"{header.path}:{header.attributes[columns[name]].line}: the label")
            self._label_columns = [columns[name] for name in self.label_names]
        left_out = {columns[name] for name in drop_attributes}.union(self._label_columns)
        self.features = [column for column in range(len(header.attributes)) if column not in left_out]
        self._used = [*self.features, *dict.fromkeys(self._label_columns)]
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
        for column in dict.fromkeys(self._label_columns):
            attribute = header.attributes[column]
            if column != self._hierarchical and not (attribute.kind == "numeric" or is_binary(attribute)):
                raise ConfigurationError(
                    f"{header.path}:{attribute.line}: the label {attribute.name!r} must be numeric, {{0,1}}, "
                    f"{{NO,YES}} or {{FALSE,TRUE}}, found {attribute.kind} "
                    f"{{{','.join(attribute.values)[:60]}}}."
                )

    def wheres(self) -> dict[str, str]:
        """`file:line` of the declaration of each feature's and label's attribute, by name."""
        names = [*self.feature_names, *self.label_names]
        columns = [*self._feature_plan.columns, *self._label_columns]
        lines = (self._header.attributes[column].line for column in columns)
        return {name: f"{self._header.path}:{line}" for name, line in zip(names, lines)}

    def check_same(self, table: ArffHeader) -> None:
        """Raises a `ConfigurationError` if another file of the split declares features or labels differently."""
        if len(table.attributes) != len(self._header.attributes):
            raise ConfigurationError(
                f"{table.path}:1: the file has {len(table.attributes)} attributes, {self._header.path} has "
                f"{len(self._header.attributes)}."
            )
        for column in self._used:
            first, other = self._header.attributes[column], table.attributes[column]
            if (first.name, first.kind, first.values) != (other.name, other.kind, other.values):
                raise ConfigurationError(
                    f"{table.path}:{other.line}: the attribute {other.name!r} is not declared as its "
                    f"counterpart {first.name!r} in {self._header.path}:{first.line}."
                )

    def features_of(self, table: ArffTable) -> Matrix:
        """The features of a table, `(rows, features)`: NaN for a missing value, sparse if the table is sparse."""
        return self._feature_plan.features_of(table.codes)

    def labels_of(self, table: ArffTable) -> "sparse.csr_array":
        """
        The labels of a table, `(rows, labels)`: boolean, sparse, indices sorted.

        # Raises

        `ConfigurationError` if a label is neither 0 nor 1, or is not a node of the hierarchy.
        """
        if self._label_plan is None:
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
        Compares the names of the split with those of the training file, in any order.

        # Parameters

        what : `str`
            `"feature"` or `"label"`, for messages.
        names, in_training : `list[str]`
            The names in the split and in the training file.
        training : `str`
            The path of the training file.

        # Raises

        `ConfigurationError` for the first name that one of the two lacks.
        """
        in_split, known, wheres = set(names), set(in_training), self.wheres()
        for name in names + in_training:
            if name not in in_split or name not in known:
                problem = f"lacks the {what} {name!r} of"
                if name in in_split:
                    problem = f"has a {what} {name!r} that is not in"
                where = wheres.get(name, f"{self._header.path}:1")
                raise ConfigurationError(
                    f"{where}: the file {problem} {training}, the training file that dataset_reader.statistics_from "
                    "names."
                )

    def _nodes_of(self, table: ArffTable) -> "sparse.csr_array":
        """The labels of a hierarchical attribute, with all their ancestors."""
        columns = {name: place for place, name in enumerate(self.label_names)}
        column = require(self._hierarchical, "a hierarchical attribute")
        codes = table.codes[:, [column]]
        codes = (codes if isinstance(codes, numpy.ndarray) else codes.toarray())[:, 0]
        indptr, indices = [0], []
        for line, code in zip(table.lines.tolist(), codes.tolist()):
            text = "" if code != code else table.texts[column][int(code)]
            nodes = [composed(node) for node in text.split("@")]
            for node in nodes:
                if node not in columns:
                    what = f"{node[:40]!r} is not a node of the hierarchy" if node else "a label is missing"
                    raise ConfigurationError(f"{table.path}:{line}: {what}.")
            indices += sorted({columns[node] for node in nodes})
            indptr.append(len(indices))
        shape = (len(table.lines), len(columns))
        given = sparse.csr_array((numpy.ones(len(indices), bool), indices, indptr), shape=shape)
        return require(self.taxonomy, "the taxonomy of a hierarchical attribute").close(given)
