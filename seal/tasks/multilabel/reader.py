import logging
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Optional, Union

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, Vocabulary
from allennlp.data.fields import TensorField
from scipy import sparse

from seal.common.setting_checks import check_that, require
from seal.common.vocabularies import ATTRIBUTES, LABELS
from seal.files.matrices import Matrix, pieces
from seal.files.names import clean_label
from seal.files.paths import expanded
from seal.tasks.base.fields import NamedColumns, NamesField
from seal.tasks.base.tensor_loader import TensorTable, dense_rows
from seal.tasks.multilabel.data_files import MultilabelData, read_multilabel

logger = logging.getLogger(__name__)

# The config keys that a path of data may come from: AllenNLP does not tell the reader which.
_PATHS = "the path of data (train_data_path, validation_data_path or test_data_path)"


@DatasetReader.register("seal_multilabel")
class MultilabelReader(DatasetReader):
    """
    Reads feature-based multi-label data in ARFF, dense or sparse, with the labels of Mulan's XML, of MEKA's relation
    or of a KU Leuven hierarchy; or in CSV, in files that end in `.csv`, whose `labels` are named (see
    `read_multilabel`). The data loader `tensors` reads the data as a table;
    AllenNLP's own loaders read one instance per row.

    A path is a file, a list of files that form one split (stratified folds), or a pattern with `*`. Files may be
    compressed.

    # Parameters

    label_xml, labels, drop_attributes, hierarchy, repeated_names :
        As in `read_multilabel`.
    missing : `str`, optional (default = `"mean"`)
        The value in place of a missing one: `"mean"`, the mean of the column in the training data `statistics_from`, or
        `"zero"`. `"error"`, and `"mean"` without `statistics_from`: a missing value is an error.
    root : `str`, optional (default = `None`)
        The name of an additional label above all others, which every row has. The papers count it among the 500 labels
        of their hierarchical sets, where it raises every F1.
    standardize : `bool`, optional (default = `False`)
        Whether to scale every feature to mean 0 and standard deviation 1 in the training data, and constant features to
        0. Features in different units need it. It requires `statistics_from`.
    statistics_from : `Union[str, list[str]]`, optional (default = `None`)
        The path of the training data, from which the means and deviations are computed. Evaluation and prediction read
        them from there, too.
    max_instances, serialization_dir :
        As in `DatasetReader`.
    """

    def __init__(
        self,
        label_xml: Optional[str] = None,
        labels: Optional[list[str]] = None,
        drop_attributes: Sequence[str] = (),
        missing: str = "mean",
        root: Optional[str] = None,
        standardize: bool = False,
        statistics_from: Optional[Union[str, list[str]]] = None,
        hierarchy: str = "auto",
        repeated_names: str = "error",
        max_instances: Optional[int] = None,
        serialization_dir: Optional[str] = None,
    ) -> None:
        # With `**kwargs` a misspelt config key would end in a TypeError instead of a message that names it.
        super().__init__(max_instances=max_instances, serialization_dir=serialization_dir)
        if standardize and statistics_from is None:
            raise ConfigurationError(
                "dataset_reader.statistics_from: name the training file, whose means and deviations 'standardize' "
                "takes."
            )
        if root is not None:
            root = clean_label(root, "dataset_reader.root")
        self._root = root
        self._read_files = partial(
            read_multilabel,
            label_xml=label_xml,
            labels=labels,
            drop_attributes=drop_attributes,
            missing="error" if missing == "mean" and statistics_from is None else missing,
            hierarchy=hierarchy,
            repeated_names=repeated_names,
            root=root,
        )
        #: Public for predictors, whose features do not come from a file, as is `training_statistics`.
        self.missing = missing
        self.standardize = standardize
        self._statistics_from = statistics_from
        # The training data, whose means replace missing values, and the means and deviations after the replacement.
        self._statistics: Optional[MultilabelData] = None
        self._moments: Optional[tuple[numpy.ndarray, numpy.ndarray]] = None

    def load(self, path: Union[str, Sequence[str]]) -> MultilabelData:
        """
        Reads the data of a path, with the root label and standardized features if these are set.

        # Raises

        `ConfigurationError` if no row has a label.
        """
        data = self._read_data(path)
        of_root = self._root is not None
        sizes = numpy.diff(data.labels.indptr) - of_root
        if not len(sizes) or sizes.max() == 0:
            raise ConfigurationError(f"{path}: no row has a label; is this the file with the labels filled in?")
        empty = numpy.flatnonzero(sizes == 0)
        if len(empty):
            logger.warning(
                "%s: the first of %d (of %d) rows that have no label; they stay.",
                data.source[empty[0]],
                len(empty),
                len(sizes),
            )
        counts = numpy.zeros(data.labels.shape[1], dtype=numpy.int64)
        for start, end in pieces(len(data.labels.indices)):
            counts += numpy.bincount(data.labels.indices[start:end], minlength=len(counts))
        unseen = numpy.flatnonzero(counts == 0)
        if len(unseen):
            logger.warning(
                "%s: no row has %d of the %d labels; the first is '%s'.",
                path,
                len(unseen),
                len(counts) - of_root,
                data.label_names[unseen[0]],
            )
        return data

    def _read_data(self, path: Union[str, Sequence[str]]) -> MultilabelData:
        """Reads the data of a path as `load` does, without checking the labels."""
        files = _files(path)
        if not self.standardize and files == self._statistics_files():
            return require(self.training_statistics(), "dataset_reader.statistics_from")
        data = self._read_files(files, statistics=self.training_statistics())
        if self.standardize:
            features = _dense(data)
            for start, end in pieces(*features.shape):
                features[start:end] = self.standardized(features[start:end], data.feature_names)
        return data

    def _statistics_files(self) -> Optional[list[str]]:
        if self._statistics_from is None:
            return None
        return _files(self._statistics_from, "dataset_reader.statistics_from")

    def training_statistics(self) -> Optional[MultilabelData]:
        """The split `statistics_from`, read once; `None` if it is not set."""
        files = self._statistics_files()
        if self._statistics is None and files is not None:
            data = self._read_files(files)
            if self.standardize:
                self._take_deviations(_dense(data))
            self._statistics = data
        return self._statistics

    def _take_deviations(self, features: numpy.ndarray) -> None:
        # A constant column is found by its extremes: rounding gives equal values a small deviation, and large values
        # that differ little have one, too.
        rows, columns = features.shape
        least, most, total, squares = (numpy.full(columns, value) for value in (numpy.inf, -numpy.inf, 0.0, 0.0))
        for start, end in pieces(rows, columns):
            part = features[start:end]
            least, most = numpy.minimum(least, part.min(axis=0)), numpy.maximum(most, part.max(axis=0))
            total += part.sum(axis=0, dtype=numpy.float64)
        centre = total / rows
        for start, end in pieces(rows, columns):
            squares += numpy.square(features[start:end] - centre).sum(axis=0)
        self._moments = centre, numpy.where(least == most, numpy.inf, numpy.sqrt(squares / rows))

    def standardized(self, features: numpy.ndarray, names: Optional[list[str]] = None) -> numpy.ndarray:
        """
        `(features - means) / deviations` in float32, with the training data's means and deviations. `names` are the
        names of the columns; `None`: the columns of the training data.
        """
        means, deviations = require(self._moments, "dataset_reader.standardize")
        if names is not None:
            columns = require(self._statistics, "dataset_reader.statistics_from").columns_of(names)
            means, deviations = means[columns], deviations[columns]
        return ((features - means) / deviations).astype(numpy.float32)

    def read_table(self, path: Union[str, Sequence[str]]) -> TensorTable:
        data = self.load(path)
        return TensorTable({"features": data.features, "labels": data.labels}, _columns(data), data.source)

    def read_inputs(self, path: Union[str, Sequence[str]]) -> TensorTable:
        """
        Reads the features for self-training, which ignores the labels: they may all be 0.
        """
        data = self._read_data(path)
        return TensorTable({"features": data.features}, {"features": _columns(data)["features"]}, data.source)

    def _read(self, path: Union[str, Sequence[str]]) -> Iterable[Instance]:
        data = self.load(path)
        columns = _columns(data)
        for row in range(len(data.source)):
            yield Instance(self._fields(data, columns, row))

    def _fields(self, data: MultilabelData, columns: dict[str, NamedColumns], row: int) -> dict[str, Field]:
        return {
            "features": ColumnsField(_row(data.features, row), columns["features"]),
            "labels": ColumnsField(_row(data.labels, row), columns["labels"]),
            # The vocabulary reads the names of the columns from the first row.
            "metadata": NamesField(data.source[row], list(columns.values()) if row == 0 else []),
        }

    def text_to_instance(self, features: numpy.ndarray) -> Instance:
        """
        # Parameters

        features : `numpy.ndarray`, `(features,)`
            In the order of the model's vocabulary.
        """
        return Instance({"features": TensorField(torch.as_tensor(features, dtype=torch.float))})


class ColumnsField(TensorField):
    """A row of a table, reordered to the order of the vocabulary."""

    def __init__(self, values: numpy.ndarray, columns: NamedColumns) -> None:
        super().__init__(torch.as_tensor(values, dtype=torch.float))
        self._columns = columns

    def index(self, vocab: Vocabulary) -> None:
        self.tensor = self.tensor[torch.from_numpy(self._columns.order(vocab))]


def _columns(data: MultilabelData) -> dict[str, NamedColumns]:
    source = data.source[0].rpartition(":")[0]
    return {
        "features": NamedColumns(data.feature_names, ATTRIBUTES, "attribute", source, data.wheres),
        "labels": NamedColumns(data.label_names, LABELS, "label", source, data.wheres),
    }


def _dense(data: MultilabelData) -> numpy.ndarray:
    if sparse.issparse(data.features):
        raise ConfigurationError(
            f"{data.source[0]}: the file is sparse, and standardized features are not; leave "
            "dataset_reader.standardize out."
        )
    return data.features


def _row(table: Matrix, row: int) -> numpy.ndarray:
    """A row, `(columns,)`."""
    return table[row] if isinstance(table, numpy.ndarray) else dense_rows(table, numpy.array([row]))[0]


def _files(path: Union[str, Sequence[str]], key: str = _PATHS) -> list[str]:
    if isinstance(path, str):
        return expanded(path)
    are_files = isinstance(path, (list, tuple)) and bool(path) and all(isinstance(file, str) for file in path)
    check_that(are_files, key, "a string or a list of one or more strings", path)
    return list(path)
