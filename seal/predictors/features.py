"""
Reads a record of input as a row of features, and checks it.
"""

from collections.abc import Sequence
from typing import Any, Optional

import numpy
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary

from seal.common.setting_checks import short
from seal.common.vocabularies import ATTRIBUTES
from seal.dataset_readers.multilabel import MultilabelReader
from seal.dataset_readers.named_columns import NamedColumns
from seal.files.names import first_repeated
from seal.files.strict_json import read_json
from seal.predictors.lines import decodable

# The values of a record's `by`: how the keys of its features are looked up.
_BY = ("index", "name")


def read_record(line: str) -> dict[str, Any]:
    """The JSON object of a line of input; no object in it gives a key twice."""
    record = read_json(decodable(line), "the line is not JSON")
    if not isinstance(record, dict):
        raise ConfigurationError(f"expected an object with 'features', found {short(record)}.")
    return record


class FeatureRows:
    """
    Makes rows of features in the form that the model was trained on: in the order of its vocabulary, missing values
    filled, standardized where the reader standardizes.

    # Parameters

    vocab : `Vocabulary`
    reader : `DatasetReader`
        A `seal_multilabel` reader determines what replaces a missing value and how features are standardized.

    # Raises

    `ConfigurationError` if the vocabulary names no attributes.
    """

    def __init__(self, vocab: Vocabulary, reader: DatasetReader) -> None:
        index_of = vocab.get_token_to_index_vocabulary(ATTRIBUTES)
        if not index_of:
            raise ConfigurationError(
                f"the model's vocabulary names no attributes ('{ATTRIBUTES}'); the 'seal_multilabel' reader does."
            )
        self.names: list[str] = [vocab.get_token_from_index(i, ATTRIBUTES) for i in range(len(index_of))]
        self._vocab = vocab
        self._reader = reader if isinstance(reader, MultilabelReader) else None
        by_index = {str(index): index for index in range(len(self.names))}
        # The names of attributes may be numbers, as in bibtex: where a key is a name, it is read as the name.
        self._lookups = {None: {**by_index, **index_of}, "index": by_index, "name": index_of}
        # The training data's means, which replace missing values, in the order of the vocabulary, and the data's column
        # of each attribute. Both are read when needed.
        self._means: Optional[numpy.ndarray] = None
        self._order: Optional[numpy.ndarray] = None

    def __len__(self) -> int:
        return len(self.names)

    def check_standardizing(self) -> None:
        """It is an error if features are to be standardized and the training data's statistics are not there."""
        if self._reader is not None and self._reader.standardize:
            self._training_order("the model's features are standardized")

    def row(self, inputs: Any) -> numpy.ndarray:
        """The features of a record with `features` and optionally `by`, not yet standardized: `(features,)`."""
        if not isinstance(inputs, dict):
            raise ConfigurationError(f"expected an object with 'features', found {short(inputs)}.")
        if "features" not in inputs:
            found = ", ".join(short(key) for key in list(inputs)[:5]) or "no key"
            raise ConfigurationError(f"the object needs 'features', found {found}.")
        by = inputs.get("by")
        if by is not None and by not in _BY:
            raise ConfigurationError(f"'by' must be 'index' or 'name', found {short(by)}.")
        features = inputs["features"]
        if isinstance(features, numpy.ndarray):
            features = features.tolist()
        row = numpy.zeros(len(self.names), dtype=numpy.float32)
        if isinstance(features, dict):
            columns = self._columns(list(features), by)
            row[columns] = self._numbers(list(features.values()), columns)
        elif not isinstance(features, list):
            raise ConfigurationError(
                "'features' must be a list of numbers, a list of attribute names or an object of numbers, found "
                f"{short(features)}."
            )
        elif all(type(value) is str for value in features):
            row[self._columns(features, by)] = 1
        elif len(features) != len(self.names):
            raise ConfigurationError(
                f"'features' has {len(features)} values, and the model has {len(self.names)} attributes."
            )
        else:
            row[:] = self._numbers(features, range(len(features)))
        return row

    def standardized(self, rows: numpy.ndarray) -> numpy.ndarray:
        """Rows `(rows, features)` standardized as the reader does; `rows` itself where it does not."""
        if self._reader is None or not self._reader.standardize:
            return rows
        order, _ = self._training_order("the model's features are standardized")
        # The reader standardizes in the order of the training file's columns.
        in_file = numpy.empty_like(rows)
        in_file[:, order] = rows
        return self._reader.standardized(in_file)[:, order]

    def _columns(self, keys: list[str], by: Optional[str]) -> list[int]:
        lookup = self._lookups[by]
        try:
            columns = [lookup[key] for key in keys]
        except (KeyError, TypeError):
            wrong = next(key for key in keys if not isinstance(key, str) or key not in lookup)
            raise ConfigurationError(self._unknown(wrong, by)) from None
        twice = first_repeated(columns)
        if twice is not None:
            raise ConfigurationError(f"the attribute {self._quoted(twice)} is given twice.")
        return columns

    def _unknown(self, key: Any, by: Optional[str]) -> str:
        what = f"{short(key)} is not an attribute index, 0 to {len(self.names) - 1} here"
        if by != "index":
            what = f"the model has no attribute {short(key)}" + (
                f", and its indices are 0 to {len(self.names) - 1}" if by is None else ""
            )
            value = next((name for name in self.names if name.startswith(f"{key}=")), None)
            if value is not None:
                what += f"; a nominal one is given by its value, such as {short(value)}: 1"
        return what + "."

    def _numbers(self, values: list[Any], columns: Sequence[int]) -> numpy.ndarray:
        kinds = set(map(type, values))
        # `True` is an `int`, but not a number here. Text is refused before numpy would convert it to numbers.
        if not kinds <= {int, float, type(None)}:
            place = next(i for i, value in enumerate(values) if type(value) not in (int, float, type(None)))
            raise ConfigurationError(
                f"the value of {self._quoted(columns[place])} must be a number, found {short(values[place])}."
            )
        try:
            with numpy.errstate(over="ignore"):
                numbers = numpy.array(values, dtype=numpy.float32)
        except OverflowError:
            # An integer that is too large for float64.
            with numpy.errstate(over="ignore"):
                numbers = numpy.array([_as_float(value) for value in values], dtype=numpy.float32)
        if numpy.isfinite(numbers).all():
            return numbers
        for place in numpy.flatnonzero(~numpy.isfinite(numbers)).tolist():
            if values[place] is not None:
                raise ConfigurationError(
                    f"the value of {self._quoted(columns[place])} is not finite in single precision: "
                    f"{short(values[place])}."
                )
            numbers[place] = self._missing(columns[place])
        return numbers

    def _missing(self, column: int) -> float:
        """What replaces a missing value of the attribute."""
        where = f"the value of {self._quoted(column)} is missing"
        if self._reader is None:
            raise ConfigurationError(f"{where}; give a number.")
        if self._reader.missing == "zero":
            return 0.0
        if self._reader.missing == "error":
            raise ConfigurationError(f"{where}, which dataset_reader.missing makes an error; give a number.")
        if self._means is None:
            order, means = self._training_order(where)
            self._means = means[order]
        return self._means[column]

    def _training_order(self, why: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The training file's column for each attribute of the vocabulary, and the means in the order of that file."""
        try:
            data = self._reader.training_statistics()
            if data is None:
                raise ConfigurationError(
                    "the training data's means are not known; name the training file in "
                    "dataset_reader.statistics_from, or give a number, or predict with dataset_reader.missing set to "
                    "'zero'."
                )
            if self._order is None:
                source = data.source[0].rpartition(":")[0]
                columns = NamedColumns(data.feature_names, ATTRIBUTES, "attribute", source)
                self._order = columns.order(self._vocab)
        except ConfigurationError as error:
            raise ConfigurationError(f"{why}, and {error}") from error
        return self._order, data.means

    def _quoted(self, column: int) -> str:
        return short(self.names[column])


def _as_float(value: Any) -> float:
    try:
        return numpy.nan if value is None else float(value)
    except OverflowError:
        return numpy.inf
