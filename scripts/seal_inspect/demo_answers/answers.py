import itertools
import os
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.models.archival import Archive

from seal.allennlp.model_names import ready_models
from seal.tasks.base.pipeline import Pipeline
from seal.tasks.base.sentence_predictor import SentencePredictor
from seal_inspect.archives import tensors_of
from seal_inspect.demo_alternatives import ALTERNATIVES, rows_of, structure_of

#: The most sentences, and the most words of one: candidates for a hundred words take a second.
LINES, WORDS = 20, 150


class Answers:
    """
    The answers of a model, as plain values for the page.

    # Parameters

    name : `str`
        The name of the model on the page.
    archive : `Archive`
    """

    #: The prompt of the page, and its examples if the validation data are missing.
    asks = "text"
    samples: tuple[str, ...] = ("The chef sold the old car to a neighbour .",)
    #: The separator of several inputs.
    hint = "Each line is an input."
    #: The kind of the model, for a message.
    task: str

    def __init__(self, name: str, archive: Archive, **arguments: Any) -> None:
        self.name = name
        self.model = archive.model.eval()
        self.reader = archive.validation_dataset_reader
        if self.model.loss_net is not None:
            arguments["energy"] = True
        self.predictor: Any = Pipeline.of_archive(archive, name, arguments=arguments).predictor
        if isinstance(self.predictor, SentencePredictor):
            self.predictor.set_splitting(None)
        # A model that comes with the package is asked in ordinary English.
        self._data = None if name in ready_models() else archive.config.get("validation_data_path")
        #: Of the labels of all models of a page.
        self.colours: dict[str, str] = {}

    def about(self) -> JsonDict:
        """The description of the model for the page."""
        examples = self._some_examples() or list(self.samples)
        return {"name": self.name, "asks": self.asks, "hint": self.hint, "examples": examples}

    def answer(self, given: str) -> Iterator[JsonDict]:
        """
        Yields, for each line or sentence of the input, the `blocks` for the page, the number of lines that are `done`,
        and the number of all lines (`of`). Raises a `ConfigurationError` if the input is wrong.
        """
        requests = self._requests(given)
        for done, request in enumerate(requests, 1):
            record = self.predictor.predict_json(request)
            if "error" in record:
                raise ConfigurationError(record["error"])
            yield {"blocks": list(self._blocks(request, record)), "done": done, "of": len(requests)}

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        """The blocks of the page for a line or a sentence."""
        raise NotImplementedError

    def _requests(self, text: str) -> list[JsonDict]:
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            raise ConfigurationError("there is nothing to predict: the text is blank.")
        requests = [part for line in lines for part in self.predictor.requests(self.predictor.read(line))]
        if len(requests) > LINES:
            raise ConfigurationError(f"the page takes {LINES} sentences at a time, and there are {len(requests)}.")
        return requests

    def labels(self) -> list[str]:
        """The labels of spans, which get colours."""
        return []

    def _tensors(self, instance: Instance) -> dict[str, Any]:
        return tensors_of(self.model, self.reader, [instance])

    def _some_examples(self) -> list[str]:
        """A few inputs of the validation data, if the files exist."""
        path = str(self._data or "").partition("#")[0]
        if not os.path.exists(path):
            return []
        found: dict[str, None] = {}
        for instance in itertools.islice(self.reader.read(self._data), 200):
            if len(found) == 6:
                break
            found[self._as_input(instance)] = None
        return list(found)

    def _as_input(self, instance: Instance) -> str:
        """The text that a user would enter for an instance."""
        raise NotImplementedError


class SentenceAnswers(Answers):
    """Answers for sentences, whose prediction is one of a few whole outputs."""

    hint = "Sentences are found; a line ends one."

    def _requests(self, text: str) -> list[JsonDict]:
        requests = super()._requests(text)
        for request in requests:
            words = len(request.get("words") or str(request.get("sentence", "")).split())
            if words > WORDS:
                raise ConfigurationError(
                    f"a sentence has {words:,} words, and the page takes {WORDS} of one; split it, or use seal predict."
                )
        return requests

    def _best(self, outputs: list[JsonDict], columns: dict[str, torch.Tensor]) -> list[JsonDict]:
        """The task-net's best outputs with their numbers, and the chosen output."""
        for output, numbers in zip(outputs, rows_of(columns)):
            output["numbers"] = numbers
        return outputs[:ALTERNATIVES] + [output for output in outputs[ALTERNATIVES:] if output["chosen"]]

    @property
    def _score(self) -> str:
        """The score for which the structure decides."""
        structure = structure_of(self.model)
        return "f1" if structure is None else structure.main_score

    def _as_input(self, instance: Instance) -> str:
        return " ".join(instance["metadata"].metadata["words"])


def numbers_of(record: JsonDict) -> dict[str, Any]:
    names = {"probability": "probability", "probability_own": "by the task-net alone", "energy": "energy"}
    return {name: record[key] for key, name in names.items() if key in record}
