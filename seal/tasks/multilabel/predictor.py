"""The base class of the predictors of label sets, the predictor for feature vectors, and the parser of its input."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.fields import MetadataField, TensorField
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.common.setting_checks import abbreviate, check_choice, check_that, check_whole, keys_of, with_parameters_of
from seal.common.vocabularies import ATTRIBUTES
from seal.files.records import first_repeated, read_json
from seal.tasks.base.fields import NamedColumns, field_of
from seal.tasks.base.predictor import (
    NOTHING_FOUND,
    LinePredictor,
    decodable,
    finite,
    probabilities_of,
)
from seal.tasks.multilabel.csv_table import number_of
from seal.tasks.multilabel.model import DECISIONS, MultilabelModel
from seal.tasks.multilabel.reader import MultilabelReader

# The types of a row. A list of such items is several rows; any other list is one row.
_ROWS = (dict, list, tuple, numpy.ndarray)


class LabelSetPredictor(LinePredictor):
    """
    The base class of the predictors for `MultilabelModel`s. A record has

    - `id`: the line's `id`, if it has one; with `--use-dataset-reader`, `file:line` of the input.
    - `labels`: the predicted labels with their probabilities, the likeliest first. A fitted structure gives
      them, calibrated on validation data; otherwise the task-net does. With `model.inference`,
      the values are the relaxed labels that minimise the energy, in [0, 1].
    - `probability`: the probability that the predicted labels are all correct; absent with `model.inference`.
    - `probability_own`: with a fitted structure, the task-net's probability of the same.
    - `top`: the `top_k` likeliest labels, predicted or not, each with `label` and `probability`.
    - `energy`: the loss-net's energy of the predicted labels together; a low energy is a good one.
    - `probabilities`: the probability of every label, in the order of the model's vocabulary.

    The last three are given on request.

    # Parameters

    model : `MultilabelModel`
    dataset_reader, frozen, energy :
        As in `LinePredictor`.
    top_k : `int`, optional (default = `None`)
        Also give the `top_k` likeliest labels.
    decision : `str`, optional (default = `None`)
        The decision rule that replaces the model's: `"half"`, `"tuned"` or `"per_label"`.
    probabilities : `bool`, optional (default = `False`)
        Also give the probabilities of all labels.

    # Raises

    `ConfigurationError` as in `LinePredictor`, if an argument is out of range, or if `decision` needs tuned thresholds
    and the model has none.
    """

    model_class = MultilabelModel

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        top_k: Optional[int] = None,
        energy: bool = False,
        decision: Optional[str] = None,
        probabilities: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__(model, dataset_reader, frozen, energy, **unknown)
        if top_k is not None:
            check_whole("top_k", top_k, least=1)
        check_that(isinstance(probabilities, bool), "probabilities", "true or false", probabilities)
        check_choice("decision", decision, (*DECISIONS, None))
        if decision is not None:
            self._model.check_tuned(decision, "decision")
        self._names: list[str] = self._model.output_space.labels
        self._top_k = top_k
        self._decision = decision
        self._probabilities = probabilities

    # `torch.inference_mode` would prevent inference by the energy from computing gradients.
    @torch.no_grad()
    def _predict(self, inputs: dict[str, Any]) -> list[JsonDict]:
        """Predicts a batch of the model's input tensors, on its device, and returns the records."""
        self._set_model()
        with _deciding(self._model, self._decision):
            output = self._model(**inputs)
        own = output["probabilities"].cpu()
        probabilities = output["marginals"].cpu().numpy() if "marginals" in output else own.numpy()
        predicted = self._labels(probabilities, output["predicted"])
        records: list[JsonDict] = [{"labels": labels} for labels in predicted]
        if self._model.inference is None:
            chosen = output["predicted"].cpu()
            set_probabilities = torch.where(chosen, own.double(), 1 - own.double()).prod(dim=1).tolist()
            calibrated = output["probability"].tolist() if "probability" in output else [None] * len(records)
            for record, *both in zip(records, calibrated, map(finite, set_probabilities)):
                record |= probabilities_of(*both)
        if self._top_k is not None:
            best = numpy.argsort(-probabilities, axis=1, kind="stable")[:, : self._top_k]
            values = numpy.take_along_axis(probabilities, best, axis=1).tolist()
            for record, columns, row in zip(records, best.tolist(), values):
                record["top"] = [
                    {"label": self._names[column], "probability": finite(value)} for column, value in zip(columns, row)
                ]
        if self._energy:
            for record, energy in zip(records, output["energy"].tolist()):
                record["energy"] = finite(energy)
        if self._probabilities:
            for record, row in zip(records, probabilities.tolist()):
                record["probabilities"] = dict(zip(self._names, map(finite, row)))
        if self._model.inference is not None:
            for row in numpy.flatnonzero(~numpy.isfinite(probabilities).all(axis=1)):
                records[row] = dict(NOTHING_FOUND)
        return records

    def _labels(self, probabilities: numpy.ndarray, predicted: torch.Tensor) -> Iterator[dict[str, float]]:
        """The predicted labels of each row, the likeliest first."""
        rows, columns = predicted.cpu().numpy().nonzero()
        values = probabilities[rows, columns]
        order = numpy.lexsort((columns, -values, rows))
        ends = numpy.bincount(rows, minlength=len(probabilities)).cumsum().tolist()
        names = [self._names[column] for column in columns[order].tolist()]
        likeliest = values[order].tolist()
        for start, end in zip([0, *ends], ends):
            yield dict(zip(names[start:end], likeliest[start:end]))


@contextmanager
def _deciding(model: MultilabelModel, decision: Optional[str]) -> Iterator[None]:
    """A context in which the model's `decision` is replaced, unless the given one is `None`."""
    own = model.decision
    model.decision = own if decision is None else decision
    try:
        yield
    finally:
        model.decision = own


@Predictor.register("seal_multilabel")
class MultilabelPredictor(LabelSetPredictor):
    """
    The predictor of `seal_multilabel` models: it predicts the labels of feature vectors.

    ```python
    predictor = Predictor.from_path("model.tar.gz", predictor_name="seal_multilabel")
    predictor.predict({"basil": 1, "tomato": 1})["labels"]  # {"italian": 0.93, "vegetarian": 0.71}
    ```

    A line of the input of `predict` is a JSON object with `features`, unscaled as in the data files:

    - a list of numbers, one for each attribute, in the order of the model's vocabulary (`attribute_labels`);
    - or an object of numbers by attribute; attributes left out are 0. A key is an attribute's name or, if no
      attribute has that name, an index from 0 in that order. The entry `"by": "index"` or `"by": "name"` of the line
      selects one of the two, for attributes whose names are numbers;
    - or a list of such keys: these attributes are 1, and all others 0. It may be empty.

    A row of a CSV file has a column for each attribute in place of `features`; other columns are ignored.

    A nominal attribute with values other than yes and no is one attribute for each value, `name=value`. `null` is a
    missing value, which `dataset_reader.missing` replaces, by default by the mean of the training file
    `dataset_reader.statistics_from`. A model trained with `standardize` always needs that file, to scale the features.

    The record is as in `LabelSetPredictor`; with `seal predict`, its `input` is `features`.

    # Parameters

    model : `MultilabelModel`
    dataset_reader : `MultilabelReader`
    frozen, top_k, energy, decision, probabilities :
        As in `LabelSetPredictor`.
    """

    registered_name = "seal_multilabel"
    wanted = "'features'"
    keys = ("features", "by")

    @with_parameters_of(LabelSetPredictor.__init__)
    def __init__(self, model: Model, dataset_reader: DatasetReader, frozen: bool = True, **arguments: Any) -> None:
        super().__init__(model, dataset_reader, frozen, **arguments)
        self._rows = FeatureRows(model.vocab, dataset_reader)

    def is_single_input(self, given: Any) -> bool:
        """Whether `given` is one row: an object, or a list or an array of numbers or names."""
        if isinstance(given, numpy.ndarray):
            return given.ndim < 2
        values = given if isinstance(given, (list, tuple)) else ()
        return isinstance(given, (str, bytes, dict)) or any(not isinstance(value, _ROWS) for value in values)

    def request(self, given: Any) -> JsonDict:
        """Turns an object with `features`, or the features alone, into a request."""
        if isinstance(given, dict) and "features" in given:
            return given
        return {"features": list(given) if isinstance(given, tuple) else given}

    def read(self, line: str) -> JsonDict:
        return read_json(decodable(line), 'the line is not JSON, such as {"features": [0, 1]}')

    def input_text(self, request: JsonDict) -> Any:
        return request.get("features")

    def _check_keys(self, inputs: JsonDict) -> None:
        # A row of a table may have further columns.
        if "features" in inputs:
            super()._check_keys(inputs)

    def prepare(self, inputs: JsonDict) -> numpy.ndarray:
        return self._rows.row(inputs)

    def records(self, prepared: list[numpy.ndarray]) -> list[JsonDict]:
        return self._labelled(self.features(prepared)) if prepared else []

    def features(self, prepared: list[numpy.ndarray]) -> torch.Tensor:
        """The features of one or more prepared requests, standardized if the reader does: `(rows, features)`."""
        return torch.from_numpy(self._rows.standardized(numpy.stack(prepared))).to(self._model.tuned_threshold)

    def predict_batch_json(self, inputs: list[JsonDict]) -> list[JsonDict]:
        """As in `LinePredictor`, in one forward pass."""
        # Checked first, because missing statistics are not a mistake in a line.
        self._rows.check_standardizing()
        return super().predict_batch_json(inputs)

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        """Predicts instances of a reader (`--use-dataset-reader`) and returns the records."""
        self._rows.check_standardizing()
        if not instances:
            return []
        records: list[JsonDict] = []
        for instance in instances:
            # Reorders the columns to the order of the vocabulary.
            instance.index_fields(self._model.vocab)
            is_row = "metadata" in instance.fields
            records.append({"id": field_of(instance, "metadata", MetadataField).metadata["source"]} if is_row else {})
        features = [field_of(instance, "features", TensorField).tensor for instance in instances]
        predictions = self._labelled(torch.stack(features))
        return [{**record, **prediction} for record, prediction in zip(records, predictions)]

    def _labelled(self, features: torch.Tensor) -> list[JsonDict]:
        return self._predict({"features": features.to(self._model.tuned_threshold)})


class FeatureRows:
    """
    Converts requests to rows of features in the form that the model was trained on: in the order of its vocabulary,
    with missing values replaced, and standardized if the reader standardizes.

    # Parameters

    vocab : `Vocabulary`
    reader : `DatasetReader`
        A `seal_multilabel` reader holds the replacements for missing values and the scale of the features.

    # Raises

    `ConfigurationError` if the vocabulary has no attributes.
    """

    def __init__(self, vocab: Vocabulary, reader: DatasetReader) -> None:
        index_of = vocab.get_token_to_index_vocabulary(ATTRIBUTES)
        if not index_of:
            raise ConfigurationError(
                f"the model's vocabulary names no attributes ('{ATTRIBUTES}'); the 'seal_multilabel' reader does."
            )
        self.names: list[str] = [vocab.get_token_from_index(i, ATTRIBUTES) for i in range(len(index_of))]
        self._vocab = vocab
        self._reader: Any = reader if isinstance(reader, MultilabelReader) else None
        by_index = {str(index): index for index in range(len(self.names))}
        # The names of attributes may be numbers, as in bibtex: a name takes precedence over an index.
        self._lookups = {None: {**by_index, **index_of}, "index": by_index, "name": index_of}
        # The training data's means in the order of the vocabulary, which replace missing values, and the column of each
        # attribute in the training data. Both are read when needed.
        self._means: Optional[numpy.ndarray] = None
        self._order: Optional[numpy.ndarray] = None

    def check_standardizing(self) -> None:
        """Raises a `ConfigurationError` if the reader standardizes and the training statistics are missing."""
        if self._reader is not None and self._reader.standardize:
            self._training_order("the model's features are standardized")

    def row(self, inputs: JsonDict) -> numpy.ndarray:
        """The features of a request with `features` and optionally `by`, before standardization: `(features,)`."""
        if "features" not in inputs:
            inputs = {"features": self._of_table(inputs), "by": "name"}
        by = inputs.get("by")
        check_that(by in (None, "index", "name"), "'by'", "'index' or 'name'", by)
        features = inputs["features"]
        if isinstance(features, numpy.ndarray):
            features = features.tolist()
        row = numpy.zeros(len(self.names), dtype=numpy.float32)
        if isinstance(features, dict):
            columns = self._columns(list(features), by)
            row[columns] = self._numbers(list(features.values()), columns)
            return row
        wanted = "a list of numbers, a list of attribute names or an object of numbers"
        check_that(isinstance(features, list), "'features'", wanted, features)
        if all(type(value) is str for value in features):
            row[self._columns(features, by)] = 1
            return row
        wanted = f"{len(self.names)}, one for each attribute"
        check_that(len(features) == len(self.names), "the values of 'features'", wanted, len(features))
        row[:] = self._numbers(features, range(len(features)))
        return row

    def _of_table(self, record: JsonDict) -> dict[str, Any]:
        """The features of a row of a table, which has a column for each attribute, and perhaps others."""
        if not any(name in record for name in self.names):
            raise ConfigurationError(f"the object needs 'features', found {keys_of(record)}.")
        lacking = next((name for name in self.names if name not in record), None)
        if lacking is not None:
            raise ConfigurationError(f"the row has no {abbreviate(lacking)}, an attribute of the model.")
        return {name: number_of(record[name]) for name in self.names}

    def standardized(self, rows: numpy.ndarray) -> numpy.ndarray:
        """The rows `(rows, features)`, standardized if the reader standardizes."""
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
        what = f"{abbreviate(key)} is not an attribute index, 0 to {len(self.names) - 1} here"
        if by != "index":
            what = f"the model has no attribute {abbreviate(key)}" + (
                f", and its indices are 0 to {len(self.names) - 1}" if by is None else ""
            )
            value = next((name for name in self.names if name.startswith(f"{key}=")), None)
            if value is not None:
                what += f"; a nominal one is given by its value, such as {abbreviate(value)}: 1"
        return what + "."

    def _numbers(self, values: list[Any], columns: Sequence[int]) -> numpy.ndarray:
        kinds = set(map(type, values))
        # `True` is an `int`, but not a number here. Text is refused before numpy would convert it to numbers.
        if not kinds <= {int, float, type(None)}:
            place = next(i for i, value in enumerate(values) if type(value) not in (int, float, type(None)))
            raise ConfigurationError(
                f"the value of {self._quoted(columns[place])} must be a number, found {abbreviate(values[place])}."
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
                    f"{abbreviate(values[place])}."
                )
            numbers[place] = self._missing(columns[place])
        return numbers

    def _missing(self, column: int) -> float:
        """The replacement for a missing value of the attribute."""
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
        return abbreviate(self.names[column])


def _as_float(value: Any) -> float:
    try:
        return numpy.nan if value is None else float(value)
    except OverflowError:
        return numpy.inf
