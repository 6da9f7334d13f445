from collections.abc import Iterable

import torch
from allennlp.common.util import JsonDict
from allennlp.data import Instance

from seal_inspect.demo_alternatives import ALTERNATIVES, rows_of, structure_of
from seal_inspect.demo_answers.answers import Answers


class SentenceAnswers(Answers):
    """Of sentences: what is predicted is one of a few whole outputs that compete."""

    def answer(self, given: str) -> list[JsonDict]:
        return [block for request, record in self._records(given) for block in self._blocks(request, record)]

    def _blocks(self, request: JsonDict, record: JsonDict) -> Iterable[JsonDict]:
        """The blocks of a sentence."""
        raise NotImplementedError

    def _best(self, outputs: list[JsonDict], columns: dict[str, torch.Tensor]) -> list[JsonDict]:
        """The task-net's best outputs with their numbers, and the chosen one wherever it is."""
        for output, numbers in zip(outputs, rows_of(columns)):
            output["numbers"] = numbers
        return outputs[:ALTERNATIVES] + [output for output in outputs[ALTERNATIVES:] if output["chosen"]]

    @property
    def _score(self) -> str:
        """That for which a structure decides."""
        structure = structure_of(self.model)
        return "f1" if structure is None else structure.main_score

    def _as_input(self, instance: Instance) -> str:
        return " ".join(instance["metadata"].metadata["words"])
