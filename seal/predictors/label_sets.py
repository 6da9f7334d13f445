"""
The base of the predictors of label sets.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader
from allennlp.models import Model

from seal.common.setting_checks import check_choice
from seal.models.multilabel import DECISIONS, MultilabelModel
from seal.predictors.line_predictor import NOTHING_FOUND, LinePredictor, check_arguments, check_whole_number, finite


class LabelSetPredictor(LinePredictor):
    """
    Makes records of the labels that a `MultilabelModel` predicts; its parameters are those of `MultilabelPredictor`.
    """

    #: The name under which both predictor and model are registered, for messages; and the class of the model.
    registered_name: str
    model_class: type[MultilabelModel] = MultilabelModel
    #: The arguments of a subclass's constructor beyond those here.
    more_arguments: tuple[str, ...] = ()

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
        known = ", ".join(("top_k, energy, decision, probabilities", *self.more_arguments))
        check_arguments(self.registered_name, model, self.model_class, unknown, known, energy)
        if top_k is not None:
            check_whole_number("top_k", top_k)
        if not isinstance(probabilities, bool):
            raise ConfigurationError(f"probabilities must be true or false, found {probabilities!r}.")
        check_choice("decision", decision, (*DECISIONS, None))
        if decision is not None:
            model.check_tuned(decision, "decision")
        super().__init__(model, dataset_reader, frozen, energy)
        self._names: list[str] = model.output_space.labels
        self._top_k = top_k
        self._decision = decision
        self._probabilities = probabilities

    # Not `torch.inference_mode`, in which inference by the energy could not switch on the gradients that it needs.
    @torch.no_grad()
    def _predict(self, inputs: dict[str, Any]) -> list[JsonDict]:
        """The records of a batch. `inputs` are the model's input tensors, on its device."""
        self._set_model()
        with _deciding(self._model, self._decision):
            output = self._model(**inputs)
        probabilities = output["probabilities"].cpu().numpy()
        predicted = self._labels(probabilities, output["predicted"])
        records: list[JsonDict] = [{"labels": labels} for labels in predicted]
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
    """Inside, the model decides by `decision`, unless that is `None`; its other predictors keep the model's own."""
    own = model.decision
    model.decision = own if decision is None else decision
    try:
        yield
    finally:
        model.decision = own
