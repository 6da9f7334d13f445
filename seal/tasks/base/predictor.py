"""The base class of the predictors, which turn each line of input into a record."""

import inspect
import json
import math
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.common.setting_checks import abbreviate, check_that
from seal.files.names import SURROGATE, check_text
from seal.tasks.base.fields import field_of

#: The record of an input for which inference by the energy finds nothing.
NOTHING_FOUND = {
    "error": "the energy is not finite wherever the search for a prediction has looked; the values of the input may be "
    "too large for the model, or its weights be NaN."
}

# The constructor's arguments that AllenNLP passes, not the user.
_ALLENNLP_ARGUMENTS = ("self", "model", "dataset_reader", "frozen")
_NO_STRICT_JSON = (TypeError, ValueError, RecursionError)


class Line(dict):
    """
    A line of input: its request or, if the line is faulty, the record of its error.

    # Parameters

    inputs : `dict[str, Any]`
        The request or the record.
    head : `dict[str, Any]`
        The first entries of the line's record: `line`, the number from 1, and `input`, the text of the line or of its
        object, if that has no `id`. Empty if the input does not come from a file.
    wrong : `bool`, optional (default = `False`)
        True if `inputs` is the record of an error.
    """

    def __init__(self, inputs: JsonDict, head: JsonDict, wrong: bool = False) -> None:
        super().__init__(inputs)
        self.head = head
        self.wrong = wrong

    def error(self, error: Exception) -> JsonDict:
        """The record of an error in this line, without `head`."""
        return {"error": f"line {self.head['line']}: {error}" if "line" in self.head else str(error)}


class LinePredictor(Predictor):
    """
    The base class of seal's predictors. `seal predict` writes one record for each input line, in order. The record
    starts with the line's `id`, if it has one. The record of a faulty line holds its `id` and `error`, a sentence; the
    other lines are still predicted. If the input does not come from a line, the error is raised. Infinite numbers and
    NaN are written as `null`.

    A subclass defines three steps: `read` turns a line into a request, `prepare` turns a request into input of the
    model, and `records` turns any number of prepared requests into records.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    frozen : `bool`, optional (default = `True`)
        As in `Predictor`. Prediction always puts the model in evaluation mode.
    energy : `bool`, optional (default = `False`)
        Add the loss-net's energy of the predicted output to each record; a low energy is a good one.
    unknown :
        Unknown arguments, such as a misspelt key of `--predictor-args`: they are collected to be named in the error.

    # Raises

    `ConfigurationError` if an argument is unknown, the model is not a `model_class`, or `energy` is set and the model
    has no loss-net.
    """

    #: The name under which both the predictor and the model are registered, for messages.
    registered_name: str
    #: The class of the model.
    model_class: type[Model] = Model
    #: The required keys of an input object, for messages.
    wanted: str
    #: The allowed keys of an input object, besides `id`; `None`: any.
    keys: Optional[tuple[str, ...]] = None
    #: The default of `seal predict --batch-size`: the number of lines predicted at once.
    lines_at_once = 256
    #: The number of lines read so far.
    lines = 0
    # `Any`: a subclass uses attributes of its own model and reader classes.
    _model: Any
    _dataset_reader: Any

    def __init__(
        self, model: Model, dataset_reader: DatasetReader, frozen: bool = True, energy: bool = False, **unknown: Any
    ) -> None:
        if unknown:
            parameters = inspect.signature(type(self).__init__).parameters.values()
            known = ", ".join(
                p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in _ALLENNLP_ARGUMENTS
            )
            raise ConfigurationError(f"predictor argument {min(unknown)!r} is unknown; choose from: {known}.")
        if not isinstance(model, self.model_class):
            name = self.registered_name
            raise ConfigurationError(f"the predictor '{name}' is for '{name}' models, not {type(model).__name__}.")
        check_that(isinstance(energy, bool), "energy", "true or false", energy)
        if energy and model.loss_net is None:
            raise ConfigurationError("energy: this model was trained without a loss-net and has none.")
        super().__init__(model, dataset_reader, frozen)
        self._energy = energy

    def is_single_input(self, given: Any) -> bool:
        """True if the Python value `given` is a single input, False if it is a collection of inputs."""
        return isinstance(given, (str, bytes, dict))

    def request(self, given: Any) -> JsonDict:
        """Turns an input given in Python into a request; raises a `ConfigurationError` if it is faulty."""
        self._check_object(given)
        return given

    def predict(self, given: Any) -> JsonDict:
        """Predicts an input given in Python, such as a text, and returns its record."""
        return self.predict_json(self.request(given))

    def read(self, line: str) -> JsonDict:
        """Turns a line into a request, a dictionary; raises a `ConfigurationError` if the line is faulty."""
        raise NotImplementedError

    def input_text(self, request: JsonDict) -> Any:
        """The text that identifies a request without `id`: its record repeats it as `input`. `None`: no text."""
        texts = [str(request[key]) for key in ("sentence", "text") if isinstance(request.get(key), str)]
        return texts[-1] if texts else None

    def prepare(self, inputs: JsonDict) -> Any:
        """Turns a request into an item for `records`; raises a `ConfigurationError` if the request is faulty."""
        raise NotImplementedError

    def requests(self, inputs: JsonDict) -> list[JsonDict]:
        """Splits a request into one request per sentence, if sentences are predicted separately."""
        return [inputs]

    def records(self, prepared: list[Any]) -> list[JsonDict]:
        """
        Predicts a list of prepared requests, which may be empty, in as few forward passes as possible, and returns
        their records. A record with the key `error` reports a mistake in the request that the model found.
        """
        raise NotImplementedError

    def _set_model(self) -> None:
        """Applies this predictor's settings to the model. Call it before each use: predictors may share a model."""
        if self._model.training:
            self._model.eval()
        self._model.with_energy = self._energy
        self._model.with_probability = True

    def load_line(self, line: str) -> JsonDict:
        """
        Reads a line into a `Line`, which stores the error of a faulty line for its record. A `NumberedLine` has its
        number, as an editor counts. AllenNLP's own `predict` passes plain strings and drops blank lines; these strings
        are counted here.
        """
        self.lines += 1
        head: JsonDict = {"line": getattr(line, "number", self.lines)}
        # An undecodable line cannot be repeated in the record.
        if not line.lstrip("\ufeff \t").startswith("{") and not SURROGATE.search(line):
            head["input"] = line.strip("\r\n\ufeff")
        try:
            request = self.read(line)
            self._check_object(request)
            text = self.input_text(request) if "id" not in request else None
            if text is not None and _is_strict_json(text):
                head["input"] = text
            return Line(request, head)
        except ConfigurationError as error:
            faulty = Line({}, head, wrong=True)
            faulty.update(faulty.error(error))
            return faulty

    def predict_batch_json(self, inputs: list[JsonDict]) -> list[JsonDict]:
        """
        Predicts requests, either dictionaries or results of `load_line`, and returns their records in order. The error
        of an input that is not a `Line` is raised.
        """
        records: list[JsonDict] = [{} for _ in inputs]
        prepared: dict[int, list[Any]] = {}
        for index, item in enumerate(inputs):
            head = item.head if isinstance(item, Line) else {}
            if isinstance(item, Line) and item.wrong:
                records[index] = {**head, **item}
                continue
            try:
                records[index] = dict(head)
                self._check_object(item)
                records[index].update(id_of(item))
                parts = self._prepared(item)
                self._check_keys(item)
                prepared[index] = parts
            except ConfigurationError as error:
                if not isinstance(item, Line):
                    raise
                records[index].update(item.error(error))
        all_parts = [part for parts in prepared.values() for part in parts if not isinstance(part, Exception)]
        part_records = iter(self.records(all_parts))
        for index, parts in prepared.items():
            sentences = [{"error": str(part)} if isinstance(part, Exception) else next(part_records) for part in parts]
            record = sentences[0] if len(sentences) == 1 else {"sentences": sentences}
            if "error" in record:
                item, model_error = inputs[index], ConfigurationError(str(record["error"]))
                if not isinstance(item, Line):
                    raise model_error
                record = item.error(model_error)
            records[index].update(record)
        return records

    def _prepared(self, inputs: JsonDict) -> list[Any]:
        """Prepares each part of a request. A faulty part among several is replaced by its error."""
        parts = self.requests(inputs)
        if len(parts) == 1:
            return [self.prepare(parts[0])]
        prepared: list[Any] = []
        for part in parts:
            try:
                prepared.append(self.prepare(part))
            except ConfigurationError as error:
                prepared.append(error)
        return prepared

    def _check_object(self, inputs: Any) -> None:
        check_that(isinstance(inputs, dict), "the input", f"an object with {self.wanted}", inputs)

    def _check_keys(self, inputs: JsonDict) -> None:
        """Raises an error for an unknown key, which may be misspelt."""
        for key in inputs:
            if self.keys is not None and key not in ("id", *self.keys):
                raise ConfigurationError(f"the key {abbreviate(key)} is unknown; there are {', '.join(self.keys)}, id.")

    def dump_line(self, outputs: JsonDict) -> str:
        """Writes a record as a line of strict JSON in ASCII, which any console and file encoding can hold."""
        return json.dumps(outputs, allow_nan=False) + "\n"

    def predict_json(self, inputs: JsonDict) -> JsonDict:
        return self.predict_batch_json([inputs])[0]

    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        raise NotImplementedError

    def note_gold(self, instances: list[Instance]) -> None:
        """Counts the gold labels of the instances that the vocabulary lacks, for `warn_of_gold`."""
        metadata = [field_of(instance, "metadata", MetadataField).metadata for instance in instances]
        self._model.unknown_gold.note(metadata)

    def warn_of_gold(self) -> None:
        """Logs a warning about the gold labels that the vocabulary lacks, if any, with the first file and line."""
        self._model.unknown_gold.warn()


@Predictor.register("of_the_model", constructor="make")
class PredictorOfTheModel(Predictor):
    """The default predictor of the model's class, for a `ContinuedModel`, whose config does not name the class."""

    @classmethod
    def make(cls, model: Model, dataset_reader: DatasetReader, **arguments: Any) -> Predictor:
        """Builds the predictor that `model.default_predictor` names, with its `arguments`."""
        name = model.default_predictor
        return (Predictor if name is None else Predictor.by_name(name))(model, dataset_reader, **arguments)


def id_of(inputs: JsonDict) -> JsonDict:
    """The first entry of a record: `{"id": ...}`, or `{}` if the request has no `id`."""
    if "id" not in inputs:
        return {}
    try:
        json.dumps(inputs["id"], allow_nan=False)
    except _NO_STRICT_JSON as error:
        raise ConfigurationError("'id' holds something that JSON cannot hold.") from error
    return {"id": inputs["id"]}


def _is_strict_json(value: Any) -> bool:
    """Whether strict JSON can hold the value: Python's parser also accepts NaN, Infinity and 1e999."""
    try:
        return not SURROGATE.search(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except _NO_STRICT_JSON:
        return False


def finite(value: float) -> Optional[float]:
    """The value, or `None` if it is infinite or NaN, which strict JSON cannot hold."""
    return value if math.isfinite(value) else None


def probabilities_of(calibrated: Optional[float], own: Optional[float]) -> JsonDict:
    """
    The entries of a record that give the probability that the output is correct.

    # Parameters

    calibrated : `float`, optional
        The structure's calibrated probability, written as `probability`. `None`: the model has no learned structure.
    own : `float`, optional
        The task-net's probability, written as `probability_own`; as `probability` if `calibrated` is `None`.
    """
    if calibrated is None:
        return {"probability": own}
    return {"probability": finite(float(calibrated)), "probability_own": own}


def without(instance: Instance, field: str) -> Instance:
    """A copy of the instance without the named field."""
    return Instance({name: value for name, value in instance.fields.items() if name != field})


def decodable(line: str) -> str:
    """
    Strips the line end and a byte order mark.

    # Raises

    `ConfigurationError` if a byte of the line is not UTF-8, or the line holds half a surrogate pair.
    """
    line = line.rstrip("\r\n").lstrip("\ufeff")
    # `seal predict` reads with `surrogateescape` (`seal.files.input_lines`).
    undecodable = SURROGATE.search(line)
    if undecodable and not 0xDC80 <= ord(undecodable.group()) <= 0xDCFF:
        check_text(line, "the line")
    if undecodable:
        byte = ord(undecodable.group()) & 0xFF
        raise ConfigurationError(
            f"the byte 0x{byte:02x} at character {undecodable.start() + 1} is not UTF-8; save the file as UTF-8."
        )
    return line
