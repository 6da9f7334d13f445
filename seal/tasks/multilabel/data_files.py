"""
Reads feature-based multi-label data into arrays: ARFF files with the labels of Mulan, MEKA or KU Leuven, and CSV.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional, Union, overload

import numpy
from allennlp.common.checks import ConfigurationError
from scipy import sparse

from seal.common.setting_checks import check_choice, require
from seal.files.matrices import Matrix, stacked
from seal.files.names import composed
from seal.files.taxonomy import Taxonomy
from seal.tasks.multilabel.arff import ArffHeader, ArffTable, read_arff
from seal.tasks.multilabel.arff_labels import HIERARCHIES
from seal.tasks.multilabel.column_plan import ColumnPlan
from seal.tasks.multilabel.csv_table import is_csv, read_csv_table, which_labels
from seal.tasks.multilabel.feature_columns import fill_missing


class RowSources(Sequence[str]):
    """
    A sequence with `file:line` of each row of a split. The strings are made on access.

    # Parameters

    files : `Sequence[str]`
    rows_of_files : `numpy.ndarray`, `(files,)`
        The number of rows in each file.
    lines : `numpy.ndarray`, `(rows,)`
        The line of each row.
    """

    def __init__(self, files: Sequence[str], rows_of_files: numpy.ndarray, lines: numpy.ndarray) -> None:
        self._files, self._ends, self._lines = list(files), numpy.cumsum(rows_of_files), lines

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: Union[int, slice]) -> Union[str, list[str]]:
        if isinstance(row, slice):
            return [self[place] for place in range(len(self))[row]]
        place = range(len(self))[row]
        return f"{self._files[int(numpy.searchsorted(self._ends, place, side='right'))]}:{self._lines[place]}"


@dataclass
class MultilabelData:
    """
    One split of a data set.

    # Parameters

    features : `Union[numpy.ndarray, scipy.sparse.csr_array]`
        float32, `(rows, features)`, finite; sparse if the file is sparse.
    labels : `scipy.sparse.csr_array`
        Boolean, `(rows, labels)`, indices sorted.
    feature_names : `list[str]`
        An attribute's name, or `name=value` for a value of a nominal attribute that is not yes/no.
    label_names : `list[str]`
    source : `Sequence[str]`
        `file:line` of each row.
    means : `numpy.ndarray`
        float32, shape (features,): the values of missing features with `missing="mean"`.
    taxonomy : `Optional[Taxonomy]`
        The taxonomy of a hierarchical attribute or a nested XML; its labels are `label_names`, in order.
    wheres : `dict[str, str]`
        `file:line` of the attribute that gives a feature or label.
    """

    features: Matrix
    labels: "sparse.csr_array"
    feature_names: list[str]
    label_names: list[str]
    source: Sequence[str]
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
    root: Optional[str] = None,
) -> MultilabelData:
    """
    Read ARFF files, or CSV files (`read_csv_table`), as one split.

    The labels come from `labels`, else from `label_xml`, else from the one hierarchical attribute, else from MEKA's
    `-C n` in the relation. A nominal attribute with the values YES and NO, TRUE and FALSE, or 1 and 0 (in any case and
    order) is 1 for the first of each pair; any other becomes one column a value. A row of a hierarchical attribute
    holds nodes between `@`, and every ancestor of a label becomes a label; labels of an XML stay as the file has them.

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
        The value in place of a missing feature: `"mean"`, the mean of the column over the values that are not missing;
        `"zero"`, 0. `"error"`: a missing feature is an error. The mean of a column of a nominal attribute is the share
        of its value.
    statistics : `Optional[MultilabelData]`
        The training split, whose means replace missing features; `None`: the means of the split that is read. Its
        features and labels must have the same names, in any order.
    hierarchy : `str`, optional (default = `"auto"`)
        `"tree"`, `"graph"` or `"auto"`; see `hierarchy_of`.
    repeated_names : `str`, optional (default = `"error"`)
        See `read_arff`.
    root : `str`, optional (default = `None`)
        The name of an additional label above all others, which every row has.

    # Raises

    `ConfigurationError` if a file or a parameter is faulty.
    """
    check_choice("dataset_reader.missing", missing, ("mean", "zero", "error"))
    check_choice("dataset_reader.hierarchy", hierarchy, HIERARCHIES)
    labels = None if labels is None else [composed(name) for name in labels]
    drop_attributes = [composed(name) for name in drop_attributes]
    if labels is not None and label_xml is not None:
        raise ConfigurationError("dataset_reader: give the labels either by 'label_xml' or by 'labels', not by both.")
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)

    def plan_of(header: ArffHeader) -> ColumnPlan:
        plan = ColumnPlan(header, label_xml, labels, drop_attributes, hierarchy)
        if root in plan.label_names:
            raise ConfigurationError(f"dataset_reader.root: '{root}' is the name of a label; take another.")
        return plan

    has_labels = labels is not None or label_xml is not None
    tables = ((file, table) for file, path in enumerate(paths) for table in _tables(path, repeated_names, has_labels))
    plan, data = _read_rows(tables, plan_of, root, paths)
    training_means = None
    if statistics is not None:
        training = statistics.source[0].rpartition(":")[0]
        plan.check_names("label", data.label_names, statistics.label_names, training)
        plan.check_names("feature", data.feature_names, statistics.feature_names, training)
        training_means = statistics.means[statistics.columns_of(data.feature_names)]
    means = fill_missing(data.features, data.feature_names, data.source, missing, training_means)
    return replace(data, means=means)


def _tables(path: str, repeated_names: str, has_labels: bool) -> Iterable[ArffTable]:
    if not is_csv(path):
        return read_arff(path, repeated_names)
    table = read_csv_table(path)
    if not has_labels:
        raise which_labels(table)
    return [table]


def _read_rows(
    tables: Iterable[tuple[int, ArffTable]],
    plan_of: Callable[[ArffHeader], ColumnPlan],
    root: Optional[str],
    paths: Sequence[str],
) -> tuple[ColumnPlan, MultilabelData]:
    """
    Collects the rows of `(file number, table)` pairs. Returns the column plan, which is made from the first table, and
    the split, in whose features values may still be missing.
    """
    plan: Optional[ColumnPlan] = None
    features: list[Matrix] = []
    gold: list[Matrix] = []
    lines: list[numpy.ndarray] = []
    rows_of_files: list[int] = []
    for file, table in tables:
        if plan is None:
            plan = plan_of(ArffHeader(table.path, table.relation, table.attributes))
        if file == len(rows_of_files):
            plan.check_same(table)
            rows_of_files.append(0)
        features.append(plan.features_of(table))
        labels = plan.labels_of(table)
        gold.append(labels if root is None else _with_root(labels))
        lines.append(table.lines)
        rows_of_files[file] += len(table.lines)
    plan = require(plan, "a file")
    names, taxonomy = plan.label_names, plan.taxonomy
    if root is not None:
        names = [root, *names]
        if taxonomy is not None:
            edges = [(taxonomy.labels[above], taxonomy.labels[below]) for above, below in taxonomy.edges]
            tops = set(taxonomy.labels) - {below for _, below in edges}
            edges += [(root, label) for label in taxonomy.labels if label in tops]
            taxonomy = Taxonomy([root, *taxonomy.labels], edges)
    source = RowSources([os.fspath(path) for path in paths], numpy.array(rows_of_files), numpy.concatenate(lines))
    means = numpy.empty(0, numpy.float32)
    return plan, MultilabelData(
        stacked(features), stacked(gold), plan.feature_names, names, source, means, taxonomy, plan.wheres()
    )


def _with_root(labels: "sparse.csr_array") -> "sparse.csr_array":
    """The labels with an additional first column of ones, the root."""
    everywhere = sparse.csr_array(numpy.ones((labels.shape[0], 1), dtype=bool))
    return sparse.csr_array(sparse.hstack([everywhere, labels], format="csr"))
