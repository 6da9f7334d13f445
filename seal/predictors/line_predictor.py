import json
import math
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.common.setting_checks import short
from seal.files.names import SURROGATE

#: The record of an input for which inference by the energy finds nothing.
NOTHING_FOUND = {
    "error": "the energy is not finite wherever the search for a prediction has looked; the values of the input may be "
    "too large for the model, or its weights be NaN."
}

_NO_STRICT_JSON = (TypeError, ValueError, RecursionError)


class Line(dict):
    """
    A line of input, as `predict` hands it on: the request of the line or, where it is `wrong`, the record of its error.

    # Parameters

    inputs : `dict[str, Any]`
        The request or the record.
    head : `dict[str, Any]`
        What its record begins with: `line`, its number from 1, and `input`, the text of plain text or of an object
        without `id`.
    wrong : `bool`, optional (default = `False`)
    """

    def __init__(self, inputs: JsonDict, head: JsonDict, wrong: bool = False) -> None:
        super().__init__(inputs)
        self.head = head
        self.wrong = wrong

    def error(self, error: Exception) -> JsonDict:
        """The record of an error of this line, without its head."""
        return {"error": f"line {self.head['line']}: {error}"}


class LinePredictor(Predictor):
    """
    The base of seal's predictors. Every input line of `predict` yields one record, in order, which starts with
    the line's `id` if it has one. The record of a faulty line has, besides its `id`, only `error`, a sentence; the
    other lines are still predicted. If the input did not come from a line, the error is raised instead.

    A predictor defines how a line becomes a request (`read`), how a request becomes input of the model (`prepare`), and
    how many of these become records at once (`records`).

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    frozen : `bool`, optional (default = `True`)
        As for `Predictor`; predicting always puts the model in evaluation mode.
    energy : `bool`, optional (default = `False`)
        Whether the model gives the energy, too.
    """

    #: The keys that an object of the input may have beside `id`; `None`: any.
    keys: Optional[tuple[str, ...]] = None
    #: How many lines of a file `seal predict` predicts at once, unless `--batch-size` says it.
    lines_at_once = 256
    #: The number of lines read so far.
    lines = 0

    def __init__(self, model: Model, dataset_reader: DatasetReader, frozen: bool = True, energy: bool = False) -> None:
        super().__init__(model, dataset_reader, frozen)
        self._energy = energy

    def read(self, line: str) -> JsonDict:
        """The request of a line, an object; raises a `ConfigurationError` where the line is wrong."""
        raise NotImplementedError

    def input_of(self, request: JsonDict) -> Any:
        """What the record of an object without an `id` repeats of it as `input`; `None`: nothing."""
        texts = [str(request[key]) for key in ("sentence", "text") if isinstance(request.get(key), str)]
        return texts[-1] if texts else None

    def prepare(self, inputs: JsonDict) -> Any:
        """The form of a request that `records` takes; raises a `ConfigurationError` where the request is wrong."""
        raise NotImplementedError

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
        good: dict[int, Any] = {}
        for place, item in enumerate(inputs):
            head = item.head if isinstance(item, Line) else {}
            if isinstance(item, Line) and item.wrong:
                records[place] = {**head, **item}
                continue
            try:
                records[place] = dict(head)
                records[place].update(id_of(item))
                prepared = self.prepare(item)
                self._check_keys(item)
                good[place] = prepared
            except ConfigurationError as error:
                if not isinstance(item, Line):
                    raise
                records[place].update(item.error(error))
        for place, record in zip(good, self.records(list(good.values()))):
            if "error" in record:
                error = ConfigurationError(record["error"])
                if not isinstance(inputs[place], Line):
                    raise error
                record = inputs[place].error(error)
            records[place].update(record)
        return records

    def _check_keys(self, inputs: JsonDict) -> None:
        """Raises an error for a key that nothing reads, which may be a misspelt one."""
        for key in inputs:
            if self.keys is not None and key not in ("id", *self.keys):
                raise ConfigurationError(f"the key {short(key)} is unknown; there are {', '.join(self.keys)}, id.")

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
        self._model.unknown_gold.note([instance["metadata"].metadata for instance in instances])

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
    if type(value) is not int or value < 1:
        raise ConfigurationError(f"{name} must be a whole number above 0, found {value!r}.")


def check_arguments(
    name: str, model: Model, model_class: type[Model], unknown: dict[str, Any], known: str, energy: Any
) -> None:
    """
    Checks common to all predictors: no unknown argument, a model of the right class, `energy` only where there is a
    loss-net.

    # Parameters

    name : `str`
        The name under which both predictor and model are registered.
    unknown : `dict[str, Any]`
        The arguments that the constructor does not have. If it did not accept and check them, `--predictor-args` with a
        misspelt key would end in a traceback.
    known : `str`
        The constructor's arguments, for the message.

    # Raises

    `ConfigurationError` where one of the checks fails.
    """
    if unknown:
        raise ConfigurationError(f"predictor argument {min(unknown)!r} is unknown; choose from: {known}.")
    if not isinstance(model, model_class):
        raise ConfigurationError(f"the predictor '{name}' is for '{name}' models, not {type(model).__name__}.")
    if not isinstance(energy, bool):
        raise ConfigurationError(f"energy must be true or false, found {energy!r}.")
    if energy and model.loss_net is None:
        raise ConfigurationError("energy: this model was trained without a loss-net and has none.")


def id_of(inputs: Any) -> JsonDict:
    """The start of a line's record: its `id`, where the line has one."""
    if not isinstance(inputs, dict) or "id" not in inputs:
        return {}
    try:
        json.dumps(inputs["id"], allow_nan=False)
    except _NO_STRICT_JSON as error:
        raise ConfigurationError("'id' holds something that JSON cannot hold.") from error
    return {"id": inputs["id"]}


def _can_be_written(value: Any) -> bool:
    """Whether a record may repeat a value of its line: Python reads NaN, Infinity and 1e999, which JSON has not."""
    try:
        return not SURROGATE.search(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except _NO_STRICT_JSON:
        return False


def finite(value: float) -> Optional[float]:
    """The value, or `None` where it is infinite or NaN, which strict JSON cannot hold."""
    return value if math.isfinite(value) else None


def without(instance: Instance, field: str) -> Instance:
    """The instance without one of its fields."""
    return Instance({name: value for name, value in instance.fields.items() if name != field})
