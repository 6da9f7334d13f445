import json
import math
from typing import Any, Dict, List, Optional, Type

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor


class Line(dict):
    """
    A line of input as `allennlp predict` hands it on: what it asks for or, where it is `wrong`, its record already.

    # Parameters

    number : `int`
        From 1, blank lines not counted.
    inputs : `Dict[str, Any]`
    wrong : `bool`, optional (default = `False`)
    """

    def __init__(self, number: int, inputs: JsonDict, wrong: bool = False) -> None:
        super().__init__(inputs)
        self.number = number
        self.wrong = wrong


class LinePredictor(Predictor):
    """
    What the predictors of seal share: each line of `allennlp predict`'s input has a record, in order; that of a
    line that is wrong has only `error`, a sentence, and the others go on. Of input that is no line, what is wrong is
    raised.

    A predictor says what a line asks for (`read`), what its model needs of that (`prepare`), and what the model makes
    of many at once (`records`).

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    frozen : `bool`, optional (default = `True`)
        As for `Predictor`; predicting always puts the model in evaluation mode.
    """

    def __init__(self, model: Model, dataset_reader: DatasetReader, frozen: bool = True) -> None:
        super().__init__(model, dataset_reader, frozen)
        #: Read so far.
        self.lines = 0

    def read(self, line: str) -> JsonDict:
        """What a line asks for, an object; raises a `ConfigurationError` where it is wrong."""
        raise NotImplementedError

    def prepare(self, inputs: JsonDict) -> Any:
        """What `records` takes of an input; raises a `ConfigurationError` where that is wrong."""
        raise NotImplementedError

    def records(self, prepared: List[Any]) -> List[JsonDict]:
        """The records of inputs, none or more, in as few passes of the model as can be."""
        raise NotImplementedError

    def load_line(self, line: str) -> JsonDict:
        """
        # Parameters

        line : `str`
            `allennlp predict` leaves blank ones out.

        # Returns

        `Line`
            For `predict_json`.
        """
        self.lines += 1
        try:
            return Line(self.lines, self.read(line))
        except ConfigurationError as error:
            return Line(self.lines, wrong_line(self.lines, error), wrong=True)

    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        """
        # Parameters

        inputs : `List[JsonDict]`
            Objects as a line may hold, or what `load_line` gave.

        # Returns

        `List[JsonDict]`
            Their records, in order.

        # Raises

        `ConfigurationError` if an input that is no line is wrong.
        """
        records: List[JsonDict] = [{} for _ in inputs]
        good: Dict[int, Any] = {}
        for place, item in enumerate(inputs):
            if isinstance(item, Line) and item.wrong:
                records[place] = dict(item)
                continue
            try:
                good[place] = self.prepare(item)
            except ConfigurationError as error:
                if not isinstance(item, Line):
                    raise
                records[place] = wrong_line(item.number, error)
        for place, record in zip(good, self.records(list(good.values()))):
            records[place] = record
        return records

    def dump_line(self, outputs: JsonDict) -> str:
        """Strict JSON in ASCII, which a console or a file of any encoding can hold."""
        return json.dumps(outputs, allow_nan=False) + "\n"

    def predict_json(self, inputs: JsonDict) -> JsonDict:
        return self.predict_batch_json([inputs])[0]

    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        raise NotImplementedError


def check_request(
    name: str, model: Model, model_class: Type[Model], unknown: Dict[str, Any], known: str, energy: Any
) -> None:
    """
    What every predictor is asked for: arguments that there are, a model of its kind, and the energy of one that has
    any.

    # Parameters

    name : `str`
        That predictor and model are registered under.
    unknown : `Dict[str, Any]`
        What the constructor has no argument for. Without it `--predictor-args` with a misspelt key ends in a traceback.
    known : `str`
        Its arguments, for the message.

    # Raises

    `ConfigurationError`, a sentence.
    """
    if unknown:
        raise ConfigurationError(f"predictor argument {min(unknown)!r} is unknown; choose from: {known}.")
    if not isinstance(model, model_class):
        raise ConfigurationError(f"the predictor '{name}' is for '{name}' models, not {type(model).__name__}.")
    if not isinstance(energy, bool):
        raise ConfigurationError(f"energy must be true or false, found {energy!r}.")
    if energy and model.loss_net is None:
        raise ConfigurationError("energy: this model was trained without a loss-net and has none.")


def wrong_line(number: int, error: Exception) -> JsonDict:
    """The record of a line that is wrong."""
    # The command does not hand blank lines on, so they cannot be counted.
    return {"error": f"line {number} (blank lines not counted): {error}"}


def finite(value: float) -> Optional[float]:
    """The value, or `None` where it is no number, which strict JSON cannot hold."""
    return value if math.isfinite(value) else None


def without(instance: Instance, field: str) -> Instance:
    """The instance without one of its fields."""
    return Instance({name: value for name, value in instance.fields.items() if name != field})
