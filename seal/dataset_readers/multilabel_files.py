"""Feature-based multi-label files as arrays: ARFF with the labels of Mulan, MEKA or KU Leuven."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Optional, Union

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.common.setting_checks import check_choice, short
from seal.dataset_readers.arff import ArffTable, read_arff
from seal.dataset_readers.column_plan import ColumnPlan
from seal.dataset_readers.feature_columns import feature_columns, fill_missing
from seal.dataset_readers.label_sources import HIERARCHIES
from seal.dataset_readers.tensor_table import Matrix
from seal.files.names import composed
from seal.files.taxonomy import Taxonomy


@dataclass
class MultilabelData:
    """
    One split of a data set.

    # Parameters

    features : `Union[numpy.ndarray, scipy.sparse.csr_array]`
        float32, shape (rows, features), finite; sparse where the file is.
    labels : `scipy.sparse.csr_array`
        Boolean, shape (rows, labels), indices sorted.
    feature_names : `list[str]`
        An attribute's name, or `name=value` for a value of a nominal attribute that is not yes/no.
    label_names : `list[str]`
    source : `list[str]`
        `file:line` of each row.
    means : `numpy.ndarray`
        float32, shape (features,): the values of missing features with `missing="mean"`.
    taxonomy : `Optional[Taxonomy]`
        That of a hierarchical attribute or a nested XML; its labels are `label_names`, in order.
    wheres : `dict[str, str]`
        `file:line` of the attribute that gives a feature or label.
    """

    features: Matrix
    labels: sparse.csr_array
    feature_names: list[str]
    label_names: list[str]
    source: list[str]
    means: numpy.ndarray
    taxonomy: Optional[Taxonomy] = None
    wheres: dict[str, str] = field(default_factory=dict)

    def columns_of(self, names: Sequence[str]) -> list[int]:
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

    # Raises

    `ConfigurationError`
        At everything in the files or the parameters that is not as above.
    """
    check_choice("dataset_reader.missing", missing, ("mean", "zero", "error"))
    check_choice("dataset_reader.hierarchy", hierarchy, HIERARCHIES)
    for key, names in (("labels", labels or ()), ("drop_attributes", drop_attributes)):
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise ConfigurationError(f"dataset_reader.{key} must be a list of attribute names, found {short(names)}.")
    labels = None if labels is None else [composed(name) for name in labels]
    drop_attributes = [composed(name) for name in drop_attributes]
    if labels is not None and label_xml is not None:
        raise ConfigurationError("dataset_reader: give the labels either by 'label_xml' or by 'labels', not by both.")
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not paths:
        raise ConfigurationError("the list of the files to read is empty; name one or more.")
    tables = (read_arff(path, repeated_names) for path in paths)
    plan, stacked, names, gold, sources = _stacked(
        tables, lambda table: ColumnPlan(table, label_xml, labels, drop_attributes, hierarchy)
    )
    given = None
    if statistics is not None:
        training = statistics.source[0].rpartition(":")[0]
        plan.check_names("label", plan.label_names, statistics.label_names, training)
        plan.check_names("feature", names, statistics.feature_names, training)
        given = statistics.means[statistics.columns_of(names)]
    filled, means = fill_missing(stacked, names, sources, missing, given)
    return MultilabelData(filled, gold, names, plan.label_names, sources, means, plan.taxonomy, plan.wheres())


def _stacked(
    tables: Iterable[ArffTable], plan_of: Callable[[ArffTable], ColumnPlan]
) -> tuple[ColumnPlan, Union[numpy.ndarray, sparse.csr_array], list[str], sparse.csr_array, list[str]]:
    """
    The plan of the first table, by which all are read, and of all rows: the features, before missing ones are filled,
    with their names; the labels; and the sources.
    """
    plan, features, gold, sources = None, [], [], []
    for table in tables:
        if plan is None:
            plan = plan_of(table)
        else:
            plan.check_same(table)
        part, names = feature_columns(table, plan.features)
        features.append(part)
        gold.append(plan.labels_of(table))
        sources += [f"{table.path}:{line}" for line in table.lines.tolist()]
    anywhere_sparse = any(sparse.issparse(part) for part in features)
    stacked = sparse.vstack(features, format="csr") if anywhere_sparse else numpy.concatenate(features)
    return plan, stacked, names, sparse.csr_array(sparse.vstack(gold, format="csr")), sources
