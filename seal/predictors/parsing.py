"""
Trees of raw text.
"""

import math
from typing import Any

from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.common.linear_trees import as_brackets
from seal.models.parsing import ParsingModel
from seal.predictors.line_predictor import check_arguments, finite
from seal.predictors.lines import read_request
from seal.predictors.sentence_predictor import SentencePredictor
from seal.predictors.words import EnglishSplitter, WordSequence

# Attention takes time with the number of words times that of steps, and no treebank has a sentence of so many.
_MAX_WORDS = 1000


@Predictor.register("seal_parsing")
class ParsingPredictor(SentencePredictor):
    """
    A constituency tree for each line of raw text: the predictor of `seal_parsing` models.

    ```python
    predictor = Predictor.from_path("model.tar.gz", predictor_name="seal_parsing")
    print(predictor.predict("Rose sells ginger")["tree"])  # (S (NP (XX Rose)) (VP (XX sells) (NP (XX ginger))))
    ```

    A line of the input of `predict` is a sentence as plain text or, where it starts with `{`, a JSON object with
    `sentence` (text) or with `words`, and optionally `id`. The line's record has

    - `id`: the line's, if it has one; with `--use-dataset-reader`, where the sentence came from (`file:line`).
    - `words`: those given, or the words into which the sentence is split in the manner of the Penn Treebank.
    - `offsets`: `[start, end)` of each word in the sentence, in characters; where `words` were given, in the words
      joined by a space.
    - `tree`: in the treebank's brackets. No part of speech is predicted: that of each word is `XX`.
    - `constituents`: the `label`, `start` and `end` (indices of the first word and of the last, inclusive) and `text`
      of each, before those inside it.
    - `probability`: the probability of the tree, in [0, 1].
    - `energy`: where it was asked for, the loss-net's energy of the tree; low is good.

    Each line has a record, in order; the record of a wrong line has, beside its `id`, only `error`, a sentence. A
    number that is not finite is `null`.

    # Parameters

    model : `ParsingModel`
    dataset_reader : `ParsingReader`
    frozen : `bool`, optional (default = `True`)
        As for `Predictor`; predicting always puts the model in evaluation mode.
    max_words : `int`, optional (default = `1000`)
        Sentences with more words get an error in place of a prediction. Time and memory grow with the square of their
        number.
    energy : `bool`, optional (default = `False`)
        Also give the energy.

    # Raises

    `ConfigurationError` if an argument is unknown or out of range, or the energy is asked of a model without a
    loss-net.
    """

    keys = ("sentence", "words")

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        max_words: int = _MAX_WORDS,
        energy: bool = False,
        **unknown: Any,
    ) -> None:
        check_arguments("seal_parsing", model, ParsingModel, unknown, "max_words, energy", energy)
        super().__init__(model, dataset_reader, frozen, energy, EnglishSplitter(), max_words)

    def prepare(self, inputs: JsonDict) -> tuple[WordSequence, Instance]:
        sequence, words = self._sequence(read_request(inputs))
        instance = self._dataset_reader.text_to_instance(words)
        self._dataset_reader.apply_token_indexers(instance)
        return sequence, instance

    def _record(self, sequence: WordSequence, output: dict[str, Any]) -> JsonDict:
        if not math.isfinite(output["log_prob"]):
            return {"error": "the net's output is not finite: its training has diverged; train again at a lower rate."}
        record: JsonDict = {
            "words": sequence.words,
            "offsets": sequence.offsets,
            "tree": as_brackets(output["symbols"], sequence.words),
            "constituents": [
                {"label": label, "start": start, "end": end, "text": sequence.between(start, end)}
                for label, start, end in output["constituents"]
            ],
            # A sum of rounded logarithms may be a little over 0.
            "probability": finite(math.exp(min(float(output["log_prob"]), 0.0))),
        }
        if self._energy:
            record["energy"] = finite(float(output["energy"]))
        return record
