"""
Labels of feature vectors.
"""

import json
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.models.multilabel import DECISIONS, MultilabelModel
from seal.predictors.features import FeatureRows, read_record
from seal.predictors.line_predictor import LinePredictor, finite, wrong_line


class Line(dict):
    """
    A line of input: a mistake in it is told in its record, with its number; in other input it is raised.
    """

    def __init__(self, number: int, inputs: JsonDict, error: Optional[str] = None) -> None:
        super().__init__(inputs)
        self.number = number
        self.error = error


@Predictor.register("seal_multilabel")
class MultilabelPredictor(LinePredictor):
    """
    The labels of feature vectors: the predictor of `seal_multilabel` models.

    ```python
    predictor = Predictor.from_path("model.tar.gz", predictor_name="seal_multilabel")
    predictor.predict({"basil": 1, "tomato": 1})["labels"]  # {"italian": 0.93, "vegetarian": 0.71}
    ```

    A line of `allennlp predict`'s input is a JSON object with `features`, raw as in the data's files:

    - a list of numbers, one for each attribute, in the order of the model's vocabulary (`attribute_labels`);
    - or an object of numbers by attribute, those left out being 0. A key is an attribute's name or, if none has
      that name, an index from 0 in that order. With `"by": "index"` or `"by": "name"` beside `features` it is
      that alone, which attributes named by numbers need;
    - or a list of such keys, each 1, and all others 0; it may be empty.

    Of a nominal attribute with values other than yes and no, each value is an attribute, `name=value`. A number
    may be `null`, a missing value: what `dataset_reader.missing` says, by default the training data's mean, known
    where `dataset_reader.statistics_from` names the training file. A model trained with `standardize` always needs
    that file: features are brought to its scale. Other keys are ignored.

    Its record has

    - `id`: the line's, if it has one; with `--use-dataset-reader`, the row's `file:line`.
    - `labels`: the predicted labels with their probabilities, the likeliest first. Where the energy predicts
      (`model.inference`), the relaxed labels that it found, in [0, 1], are told as probabilities.
    - `top`: the `top_k` likeliest labels, predicted or not, each with `label` and `probability`.
    - `energy`: of the predicted labels together, the loss-net's; low is good.
    - `probabilities`: of every label, in the order of the model's vocabulary.

    The last three are given on request. Each line has a record, in order; that of a line that is wrong has only
    `error`, a sentence. A number that is not finite is `null`.

    # Parameters

    model : `MultilabelModel`
    dataset_reader : `MultilabelReader`
    frozen : `bool`, optional (default = `True`)
        As for `Predictor`; predicting always puts the model in evaluation mode.
    top_k : `int`, optional (default = `None`)
        Also give so many of the likeliest labels.
    energy : `bool`, optional (default = `False`)
        Also give the energy.
    decision : `str`, optional (default = `None`)
        In the place of the model's: `"half"`, `"tuned"` or `"per_label"`.
    probabilities : `bool`, optional (default = `False`)
        Also give the probabilities of all labels.

    # Raises

    `ConfigurationError` if an argument is unknown or out of range, the energy is asked of a model without a
    loss-net, or tuned thresholds of a model that has none.
    """

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
        # Without this `--predictor-args` with a misspelt key ends in a traceback.
        if unknown:
            raise ConfigurationError(
                f"predictor argument {min(unknown)!r} is unknown; choose from: top_k, energy, decision, "
                "probabilities."
            )
        if not isinstance(model, MultilabelModel):
            raise ConfigurationError(
                f"the predictor 'seal_multilabel' is for 'seal_multilabel' models, not {type(model).__name__}."
            )
        if top_k is not None and (type(top_k) is not int or top_k < 1):
            raise ConfigurationError(f"top_k must be a whole number above 0, found {top_k!r}.")
        for name, value in (("energy", energy), ("probabilities", probabilities)):
            if not isinstance(value, bool):
                raise ConfigurationError(f"{name} must be true or false, found {value!r}.")
        if energy and model.loss_net is None:
            raise ConfigurationError("energy: this model was trained without a loss-net and has none.")
        if decision is not None and not (isinstance(decision, str) and decision in DECISIONS):
            raise ConfigurationError(f"decision must be one of {', '.join(DECISIONS)}, found {decision!r}.")
        if decision in ("tuned", "per_label") and not model.is_tuned:
            raise ConfigurationError(
                f"decision: '{decision}' needs thresholds that the trainer callback 'tune_thresholds' has tuned, "
                "and this model was trained without it."
            )
        super().__init__(model, dataset_reader, frozen)
        self._rows = FeatureRows(model.vocab, dataset_reader)
        self._names: List[str] = model.output_space.labels
        self._top_k = top_k
        self._energy = energy
        self._decision = decision
        self._probabilities = probabilities

    def predict(self, features: Any) -> JsonDict:
        """
        # Parameters

        features : `Union[List[float], numpy.ndarray, Dict[str, float], List[str]]`

        # Returns

        `JsonDict`
            The record, as above.
        """
        return self.predict_json({"features": features})

    def load_line(self, line: str) -> JsonDict:
        """
        # Parameters

        line : `str`
            `allennlp predict` leaves blank ones out.

        # Returns

        `JsonDict`
            For `predict_json`, which gives the `error` of a line that is wrong in its record: what is wrong with
            features shows where they are put into a row.
        """
        self.lines += 1
        try:
            return Line(self.lines, read_record(line))
        except ConfigurationError as error:
            return Line(self.lines, {}, str(error))

    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        """
        All in one pass of the model.

        # Parameters

        inputs : `List[JsonDict]`
            Each with `features`, and perhaps `id` and `by`; or what `load_line` gave.

        # Returns

        `List[JsonDict]`
            Their records, in order.

        # Raises

        `ConfigurationError` if an input that is no line is wrong, or the reader has nothing to standardize by.
        """
        # That is not the fault of a line.
        self._rows.check_standardizing()
        matrix = numpy.zeros((len(inputs), len(self._rows)), dtype=numpy.float32)
        records: List[JsonDict] = []
        good: List[int] = []
        for place, item in enumerate(inputs):
            try:
                if isinstance(item, Line) and item.error is not None:
                    raise ConfigurationError(item.error)
                self._rows.fill(item, matrix[place])
                records.append(_id_of(item))
                good.append(place)
            except ConfigurationError as error:
                if not isinstance(item, Line):
                    raise
                records.append(wrong_line(item.number, error))
        rows = self._rows.standardized(matrix[good] if len(good) < len(inputs) else matrix)
        for place, record in zip(good, self._predict(torch.from_numpy(rows))):
            records[place].update(record)
        return records

    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """
        The records of a reader's instances (`--use-dataset-reader`).

        # Raises

        `ConfigurationError` if the reader standardizes by whatever file it reads first.
        """
        self._rows.check_standardizing()
        if not instances:
            return []
        records: List[JsonDict] = []
        for instance in instances:
            # Brings the columns into the order of the vocabulary.
            instance.index_fields(self._model.vocab)
            metadata = instance.fields.get("metadata")
            records.append({} if metadata is None else {"id": metadata.metadata["source"]})
        features = torch.stack([instance["features"].tensor for instance in instances])
        for record, more in zip(records, self._predict(features)):
            record.update(more)
        return records

    # Inference by the energy needs gradients, which `torch.inference_mode` would not let it switch on.
    @torch.no_grad()
    def _predict(self, features: torch.Tensor) -> List[JsonDict]:
        if not len(features):
            return []
        if self._model.training:
            self._model.eval()
        self._model.with_energy = self._energy
        with _deciding(self._model, self._decision):
            output = self._model(features.to(self._model.tuned_threshold))
        probabilities = output["probabilities"].cpu().numpy()
        predicted = self._labels(probabilities, output["predicted"])
        records: List[JsonDict] = [{"labels": labels} for labels in predicted]
        if self._top_k is not None:
            best = numpy.argsort(-probabilities, axis=1, kind="stable")[:, : self._top_k]
            values = numpy.take_along_axis(probabilities, best, axis=1).tolist()
            for record, columns, row in zip(records, best.tolist(), values):
                record["top"] = [
                    {"label": self._names[column], "probability": finite(value)}
                    for column, value in zip(columns, row)
                ]
        if self._energy:
            for record, energy in zip(records, output["energy"].tolist()):
                record["energy"] = finite(energy)
        if self._probabilities:
            for record, row in zip(records, probabilities.tolist()):
                record["probabilities"] = dict(zip(self._names, map(finite, row)))
        return records

    def _labels(self, probabilities: numpy.ndarray, predicted: torch.Tensor) -> Iterator[Dict[str, float]]:
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
    """Inside, the model decides by `decision`, unless that is `None`; other predictors of it are not disturbed."""
    own = model.decision
    model.decision = own if decision is None else decision
    try:
        yield
    finally:
        model.decision = own


def _id_of(inputs: JsonDict) -> JsonDict:
    if "id" not in inputs:
        return {}
    try:
        json.dumps(inputs["id"], allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError("'id' holds something that JSON cannot hold.") from error
    return {"id": inputs["id"]}
