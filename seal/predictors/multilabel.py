"""
Labels of feature vectors.
"""

from typing import Any

import numpy
import torch
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.predictors.features import FeatureRows, read_record
from seal.predictors.label_sets import LabelSetPredictor


@Predictor.register("seal_multilabel")
class MultilabelPredictor(LabelSetPredictor):
    """
    The labels of feature vectors: the predictor of `seal_multilabel` models.

    ```python
    predictor = Predictor.from_path("model.tar.gz", predictor_name="seal_multilabel")
    predictor.predict({"basil": 1, "tomato": 1})["labels"]  # {"italian": 0.93, "vegetarian": 0.71}
    ```

    A line of the input of `predict` is a JSON object with `features`, raw as in the data's files:

    - a list of numbers, one for each attribute, in the order of the model's vocabulary (`attribute_labels`);
    - or an object of numbers by attribute; attributes left out are 0. A key is an attribute's name or, if no
      attribute has that name, an index from 0 in that order. With `"by": "index"` or `"by": "name"` beside
      `features` keys are read in that one way only, which is needed where the names of attributes are numbers;
    - or a list of such keys: those attributes are 1, and all others 0. It may be empty.

    A nominal attribute with values other than yes and no is one attribute for each value, `name=value`. `null` in the
    place of a number is a missing value. `dataset_reader.missing` says what replaces it, by default the training
    data's mean, which is known where `dataset_reader.statistics_from` names the training file. A model trained with
    `standardize` always needs that file, because features are brought to its scale.

    Its record has

    - `id`: the line's, if it has one; with `--use-dataset-reader`, the row's `file:line`.
    - `line` and `input`, with `seal predict`: the number of the line and, without an `id`, its `features`.
    - `labels`: the predicted labels with their probabilities, the likeliest first. Where the energy predicts
      (`model.inference`), the relaxed labels that it found, in [0, 1], are given as probabilities.
    - `top`: the `top_k` likeliest labels, predicted or not, each with `label` and `probability`.
    - `energy`: the loss-net's energy of the predicted labels together; low is good.
    - `probabilities`: the probability of every label, in the order of the model's vocabulary.

    The last three are given on request. Each line has a record, in order; the record of a wrong line has, beside its
    `id`, only `error`, a sentence. A number that is not finite is `null`.

    # Parameters

    model : `MultilabelModel`
    dataset_reader : `MultilabelReader`
    frozen : `bool`, optional (default = `True`)
        As for `Predictor`; predicting always puts the model in evaluation mode.
    top_k : `int`, optional (default = `None`)
        Also give the `top_k` likeliest labels.
    energy : `bool`, optional (default = `False`)
        Also give the energy.
    decision : `str`, optional (default = `None`)
        The decision rule that replaces the model's: `"half"`, `"tuned"` or `"per_label"`.
    probabilities : `bool`, optional (default = `False`)
        Also give the probabilities of all labels.

    # Raises

    `ConfigurationError` if an argument is unknown or out of range, the energy is asked of a model without a
    loss-net, or tuned thresholds are asked of a model that has none.
    """

    registered_name = "seal_multilabel"
    keys = ("features", "by")

    def __init__(self, model: Model, dataset_reader: DatasetReader, frozen: bool = True, **arguments: Any) -> None:
        super().__init__(model, dataset_reader, frozen, **arguments)
        self._rows = FeatureRows(model.vocab, dataset_reader)

    def predict(self, features: Any) -> JsonDict:
        """The record, as above, of a list of numbers or names, an array, or an object of numbers."""
        return self.predict_json({"features": features})

    def read(self, line: str) -> JsonDict:
        return read_record(line)

    def input_of(self, request: JsonDict) -> Any:
        return request.get("features")

    def prepare(self, inputs: JsonDict) -> numpy.ndarray:
        return self._rows.row(inputs)

    def records(self, prepared: list[numpy.ndarray]) -> list[JsonDict]:
        return self._labelled(self.features(prepared)) if prepared else []

    def features(self, prepared: list[numpy.ndarray]) -> torch.Tensor:
        """The features of one or more prepared requests, as the model reads them: `(rows, features)`."""
        return torch.from_numpy(self._rows.standardized(numpy.stack(prepared))).to(self._model.tuned_threshold)

    def predict_batch_json(self, inputs: list[JsonDict]) -> list[JsonDict]:
        """As for `LinePredictor`, in one pass of the model."""
        # First of all, as missing statistics are not the fault of a line.
        self._rows.check_standardizing()
        return super().predict_batch_json(inputs)

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        """The records of a reader's instances (`--use-dataset-reader`)."""
        self._rows.check_standardizing()
        if not instances:
            return []
        records: list[JsonDict] = []
        for instance in instances:
            # Brings the columns into the order of the vocabulary.
            instance.index_fields(self._model.vocab)
            metadata = instance.fields.get("metadata")
            records.append({} if metadata is None else {"id": metadata.metadata["source"]})
        found = self._labelled(torch.stack([instance["features"].tensor for instance in instances]))
        return [{**record, **more} for record, more in zip(records, found)]

    def _labelled(self, features: torch.Tensor) -> list[JsonDict]:
        return self._predict({"features": features.to(self._model.tuned_threshold)})
