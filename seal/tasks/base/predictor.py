"""The base of the predictors: a line of input becomes a record."""

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

# The arguments of every predictor that are not the user's.
_GIVEN = ("self", "model", "dataset_reader", "frozen")
_NO_STRICT_JSON = (TypeError, ValueError, RecursionError)


class Line(dict):
    """
    A line of input, as `predict` hands it on: the request of the line or, where it is `wrong`, the record of its error.

    # Parameters

    inputs : `dict[str, Any]`
        The request or the record.
    head : `dict[str, Any]`
        What its record begins with: `line`, its number from 1, and `input`, the text of plain text or of an object
        without `id`; nothing where the input is none of a file.
    wrong : `bool`, optional (default = `False`)
    """

    def __init__(self, inputs: JsonDict, head: JsonDict, wrong: bool = False) -> None:
        super().__init__(inputs)
        self.head = head
        self.wrong = wrong

    def error(self, error: Exception) -> JsonDict:
        """The record of an error of this line, without its head."""
        return {"error": f"line {self.head['line']}: {error}" if "line" in self.head else str(error)}


class LinePredictor(Predictor):
    """
    The base of seal's predictors. Every input line of `predict` yields one record, in order, which starts with
    the line's `id` if it has one. The record of a faulty line has, besides its `id`, only `error`, a sentence; the
    other lines are still predicted. If the input did not come from a line, the error is raised instead. A number that
    is not finite is `null`.

    A predictor defines how a line becomes a request (`read`), how a request becomes input of the model (`prepare`), and
    how many of these become records at once (`records`).

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    frozen : `bool`, optional (default = `True`)
        As for `Predictor`; predicting always puts the model in evaluation mode.
    energy : `bool`, optional (default = `False`)
        Also give the loss-net's energy of what is predicted; low is good.
    unknown :
        The arguments that the constructor does not have. If it did not accept them, `--predictor-args` with a misspelt
        key would end in a traceback.

    # Raises

    `ConfigurationError` if an argument is unknown, the model is of another class, or the energy is asked of a model
    without a loss-net.
    """

    #: The name under which both predictor and model are registered, for messages; and the class of the model.
    registered_name: str
    model_class: type[Model] = Model
    #: What an object of the input must have, for messages.
    wanted: str
    #: The keys that it may have beside `id`; `None`: any.
    keys: Optional[tuple[str, ...]] = None
    #: How many lines of a file `seal predict` predicts at once, unless `--batch-size` says it.
    lines_at_once = 256
    #: The number of lines read so far.
    lines = 0
    # Of the classes that a subclass is for, with what these have beside AllenNLP's.
    _model: Any
    _dataset_reader: Any

    def __init__(
        self, model: Model, dataset_reader: DatasetReader, frozen: bool = True, energy: bool = False, **unknown: Any
    ) -> None:
        if unknown:
            parameters = inspect.signature(type(self).__init__).parameters.values()
            known = ", ".join(p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in _GIVEN)
            raise ConfigurationError(f"predictor argument {min(unknown)!r} is unknown; choose from: {known}.")
        if not isinstance(model, self.model_class):
            name = self.registered_name
            raise ConfigurationError(f"the predictor '{name}' is for '{name}' models, not {type(model).__name__}.")
        check_that(isinstance(energy, bool), "energy", "true or false", energy)
        if energy and model.loss_net is None:
            raise ConfigurationError("energy: this model was trained without a loss-net and has none.")
        super().__init__(model, dataset_reader, frozen)
        self._energy = energy

    def is_one(self, given: Any) -> bool:
        """Whether what a program gives is one input, and not several."""
        return isinstance(given, (str, bytes, dict))

    def request(self, given: Any) -> JsonDict:
        """The request of an input that a program gives; raises a `ConfigurationError` where it is wrong."""
        self._check_object(given)
        return given

    def predict(self, given: Any) -> JsonDict:
        """The record of an input that a program gives, such as a text."""
        return self.predict_json(self.request(given))

    def read(self, line: str) -> JsonDict:
        """The request of a line, which must be an object; raises a `ConfigurationError` where the line is wrong."""
        raise NotImplementedError

    def input_of(self, request: JsonDict) -> Any:
        """What the record of an object without an `id` repeats of it as `input`; `None`: nothing."""
        texts = [str(request[key]) for key in ("sentence", "text") if isinstance(request.get(key), str)]
        return texts[-1] if texts else None

    def prepare(self, inputs: JsonDict) -> Any:
        """The form of a request that `records` takes; raises a `ConfigurationError` where the request is wrong."""
        raise NotImplementedError

    def requests(self, inputs: JsonDict) -> list[JsonDict]:
        """The requests of which one consists: those of its sentences, where these are predicted apart."""
        return [inputs]

    def records(self, prepared: list[Any]) -> list[JsonDict]:
        """
        The records of any number of prepared requests, also none, in as few passes of the model as possible. A record
        with the key `error` has a mistake of the request that only the model has found.
        """
        raise NotImplementedError

    def _set_model(self) -> None:
        """Sets the model to this predictor's settings, before each use: other predictors may share the model."""
        if self._model.training:
            self._model.eval()
        self._model.with_energy = self._energy
        self._model.with_probability = True

    def load_line(self, line: str) -> JsonDict:
        """
        Reads a line; where it is wrong, the error is kept for its record. Its number is the one that it has (a
        `NumberedLine`), as an editor counts lines; AllenNLP's own `predict` leaves blank lines out, and lines are
        counted here.
        """
        self.lines += 1
        head: JsonDict = {"line": getattr(line, "number", self.lines)}
        # An undecodable line cannot be written.
        if not line.lstrip("\ufeff \t").startswith("{") and not SURROGATE.search(line):
            head["input"] = line.strip("\r\n\ufeff")
        try:
            request = self.read(line)
            self._check_object(request)
            given = self.input_of(request) if "id" not in request else None
            if given is not None and _can_be_written(given):
                head["input"] = given
            return Line(request, head)
        except ConfigurationError as error:
            wrong = Line({}, head, wrong=True)
            wrong.update(wrong.error(error))
            return wrong

    def predict_batch_json(self, inputs: list[JsonDict]) -> list[JsonDict]:
        """
        The records of objects as a line may hold, or of results of `load_line`, in order. A mistake in an input that
        does not come from `load_line` is raised.
        """
        records: list[JsonDict] = [{} for _ in inputs]
        good: dict[int, list[Any]] = {}
        for place, item in enumerate(inputs):
            head = item.head if isinstance(item, Line) else {}
            if isinstance(item, Line) and item.wrong:
                records[place] = {**head, **item}
                continue
            try:
                records[place] = dict(head)
                self._check_object(item)
                records[place].update(id_of(item))
                parts = self._prepared(item)
                self._check_keys(item)
                good[place] = parts
            except ConfigurationError as error:
                if not isinstance(item, Line):
                    raise
                records[place].update(item.error(error))
        every = [part for parts in good.values() for part in parts if not isinstance(part, Exception)]
        found = iter(self.records(every))
        for place, parts in good.items():
            of_parts = [{"error": str(part)} if isinstance(part, Exception) else next(found) for part in parts]
            record = of_parts[0] if len(of_parts) == 1 else {"sentences": of_parts}
            if "error" in record:
                item, wrong = inputs[place], ConfigurationError(str(record["error"]))
                if not isinstance(item, Line):
                    raise wrong
                record = item.error(wrong)
            records[place].update(record)
        return records

    def _prepared(self, inputs: JsonDict) -> list[Any]:
        """What `records` takes of each part of a request; of a wrong part among several its error."""
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
        """Raises an error for a key that nothing reads, which may be a misspelt one."""
        for key in inputs:
            if self.keys is not None and key not in ("id", *self.keys):
                raise ConfigurationError(f"the key {abbreviate(key)} is unknown; there are {', '.join(self.keys)}, id.")

    def dump_line(self, outputs: JsonDict) -> str:
        """A record as a line of strict JSON in ASCII, which a console or a file of any encoding can hold."""
        return json.dumps(outputs, allow_nan=False) + "\n"

    def predict_json(self, inputs: JsonDict) -> JsonDict:
        return self.predict_batch_json([inputs])[0]

    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        raise NotImplementedError

    def note_gold(self, instances: list[Instance]) -> None:
        """Counts the gold of a reader's instances that the model does not know, for `warn_of_gold`."""
        metadata = [field_of(instance, "metadata", MetadataField).metadata for instance in instances]
        self._model.unknown_gold.note(metadata)

    def warn_of_gold(self) -> None:
        """Warns of the gold labels that the model does not know, with the first file and line, if there were any."""
        self._model.unknown_gold.warn()


@Predictor.register("of_the_model", constructor="make")
class PredictorOfTheModel(Predictor):
    """The predictor of the model's class, where a config names it no more: that of a model that was trained on."""

    @classmethod
    def make(cls, model: Model, dataset_reader: DatasetReader, **arguments: Any) -> Predictor:
        """It takes the arguments of that predictor."""
        name = model.default_predictor
        return (Predictor if name is None else Predictor.by_name(name))(model, dataset_reader, **arguments)


def check_whole_number(name: str, value: Any) -> None:
    """It is an error if the argument `name` of a predictor is not a whole number above 0."""
    check_that(type(value) is int and value >= 1, name, "a whole number above 0", value)


def id_of(inputs: JsonDict) -> JsonDict:
    """The start of a line's record: its `id`, where the line has one."""
    if "id" not in inputs:
        return {}
    try:
        json.dumps(inputs["id"], allow_nan=False)
    except _NO_STRICT_JSON as error:
        raise ConfigurationError("'id' holds something that JSON cannot hold.") from error
    return {"id": inputs["id"]}


def keys_of(inputs: JsonDict) -> str:
    """The first keys of an object, for messages."""
    return ", ".join(abbreviate(key) for key in list(inputs)[:5]) or "no key"


def _can_be_written(value: Any) -> bool:
    """Whether a record may repeat a value of its line: Python reads NaN, Infinity and 1e999, which JSON has not."""
    try:
        return not SURROGATE.search(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except _NO_STRICT_JSON:
        return False


def finite(value: float) -> Optional[float]:
    """The value, or `None` where it is infinite or NaN, which strict JSON cannot hold."""
    return value if math.isfinite(value) else None


def probabilities_of(calibrated: Optional[float], own: Optional[float]) -> JsonDict:
    """
    The entries of a record of how likely an output is to be right: what the structure says, beside the task-net's
    `probability_own`; or, where there is no structure or it has learned nothing, the task-net's alone.
    """
    if calibrated is None:
        return {"probability": own}
    return {"probability": finite(float(calibrated)), "probability_own": own}


def without(instance: Instance, field: str) -> Instance:
    """The instance without one of its fields."""
    return Instance({name: value for name, value in instance.fields.items() if name != field})


def decodable(line: str) -> str:
    """
    The line without its end and a byte order mark. It is an error if a byte of it was not UTF-8, or if it holds half a
    surrogate pair.
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
