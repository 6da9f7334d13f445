"""
Trees of raw text.
"""

import math
from typing import Any

from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.common.linear_trees import as_brackets
from seal.tasks.base.sentence_predictor import SentencePredictor
from seal.tasks.base.words import EnglishSplitter, WordSequence
from seal.tasks.parsing.model import ParsingModel

# The time of attention grows with the product of words and steps; sentences of treebanks are shorter than this.
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
    - `probability`: how likely the tree is to be right, in [0, 1]: of a model with a structure that has learned
      something, calibrated on validation data, otherwise the task-net's.
    - `probability_own`: in the first case, the task-net's.
    - `energy`: where it was asked for, the loss-net's energy of the tree; low is good.

    # Parameters

    model : `ParsingModel`
    dataset_reader : `ParsingReader`
    frozen, energy :
        As for `LinePredictor`.
    max_words : `int`, optional (default = `1000`)
        Sentences with more words get an error in place of a prediction. Time and memory grow with the square of their
        number.
    split_sentences : `bool`, optional (default = `False`)
        Split a text into sentences, as for `SentencePredictor`.

    # Raises

    `ConfigurationError` as for `LinePredictor`, and if an argument is out of range.
    """

    registered_name = "seal_parsing"
    model_class = ParsingModel
    keys = ("sentence", "words")

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        max_words: int = _MAX_WORDS,
        energy: bool = False,
        split_sentences: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__(
            model, dataset_reader, frozen, energy, EnglishSplitter(), max_words, split_sentences, **unknown
        )

    def _found(self, sequence: WordSequence, output: dict[str, Any]) -> JsonDict:
        if not math.isfinite(output["log_prob"]):
            return {"error": "the net's output is not finite: its training has diverged; train again at a lower rate."}
        tree = as_brackets(output["symbols"], sequence.words)
        return {"tree": tree, "constituents": sequence.spans(output["constituents"])}
