"""The predictor of tags for raw text."""

import math
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.predictors import Predictor

from seal.common.setting_checks import check_choice, check_that
from seal.common.tag_notation import notation_of
from seal.tasks.base.predictor import NOTHING_FOUND
from seal.tasks.base.sentence_predictor import MAX_WORDS, SentencePredictor
from seal.tasks.base.words import SPLITTERS, WordSequence, describe
from seal.tasks.tagging.model import TaggingModel


@Predictor.register("seal_tagging")
class TaggingPredictor(SentencePredictor):
    """
    A tag for each word of raw text, and the entities: the predictor of `seal_tagging` models.

    ```python
    predictor = Predictor.from_path("model.tar.gz", predictor_name="seal_tagging")
    print(predictor.predict("Rose sells ginger in York")["description"])  # [SEL Rose] sells [ITM ginger] in [LOC York]
    ```

    A line of the input of `predict` is a sentence as plain text or, where it starts with `{`, a JSON object with
    `sentence` (text) or with `words`, and optionally `id`. Where the model's reader has feature columns, `features` are
    needed beside `words`: an object of lists, each with a string for each word. The line's record has

    - `id`: the line's, if it has one; with `--use-dataset-reader`, where the sentence came from (`file:line`).
    - `words`: those given, or the words into which `tokenizer` splits the sentence. The model reads them as its
      training data write them, such as `-LRB-` for `(`.
    - `offsets`: `[start, end)` of each word in the sentence, in characters; where `words` were given, in the words
      joined by a space.
    - `tags`: one for each word; tags of entities as the training data write them.
    - `spans`: where the tags encode entities, the `label`, `start` and `end` (indices of the first word and of the
      last, inclusive) and `text` of each.
    - `description`: one line to read: the words with the entities in brackets, or each word with its tag, `word/TAG`.
    - `probability`: how likely all tags together are to be right, in [0, 1]: of a model with a structure that has
      learned something, calibrated on validation data, otherwise the task-net's.
    - `probability_own`: in the first case, the task-net's.
    - `energy`: where it was asked for, the loss-net's energy of the tags; low is good.

    # Parameters

    model : `TaggingModel`
    dataset_reader : `TaggingReader`
    frozen, energy :
        As for `LinePredictor`.
    tokenizer : `str`, optional (default = `None`)
        How text is split into words: `"english"` (`EnglishSplitter`), `"tweets"` (`TweetSplitter`) or `"white_space"`,
        for text that is tokenized already. `None`: as the model's `dataset_reader.tokenizer` says.
    max_words : `int`, optional (default = `10000`)
        Sentences with more words get an error in place of a prediction. Memory grows with their number.
    split_sentences : `bool`, optional (default = `False`)
        Split a text into sentences, as for `SentencePredictor`.

    # Raises

    `ConfigurationError` as for `LinePredictor`, and if an argument is out of range.
    """

    registered_name = "seal_tagging"
    model_class = TaggingModel
    keys = ("sentence", "words", "features")

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        tokenizer: Optional[str] = None,
        max_words: int = MAX_WORDS,
        energy: bool = False,
        split_sentences: bool = False,
        **unknown: Any,
    ) -> None:
        if tokenizer is None:
            tokenizer = getattr(dataset_reader, "tokenizer", "english")
        check_choice("tokenizer", tokenizer, tuple(SPLITTERS))
        super().__init__(
            model, dataset_reader, frozen, energy, SPLITTERS[tokenizer](), max_words, split_sentences, **unknown
        )
        #: The notation of entity tags in the training data; `None` if tags encode no spans.
        self.notation = notation_of(self._model.vocab)

    def _more(self, inputs: JsonDict) -> dict[str, Any]:
        features = inputs.get("features")
        wanted = "an object with a list of strings for each feature"
        check_that(features is None or isinstance(features, dict), "'features'", wanted, features)
        known = self._dataset_reader.feature_names
        for name, values in (features or {}).items():
            if name not in known:
                raise ConfigurationError(
                    f"the model has no feature {name!r}; "
                    + (f"its features are {', '.join(known)}." if known else "it reads words alone.")
                )
            are_strings = isinstance(values, list) and all(isinstance(value, str) for value in values)
            check_that(are_strings, f"the feature {name!r}", "a list of strings", values)
        return {"features": features}

    def _found(self, sequence: WordSequence, output: dict[str, Any]) -> JsonDict:
        if self._model.inference is not None and not math.isfinite(output["log_prob"]):
            return dict(NOTHING_FOUND)
        words, tags = sequence.words, output["tags"]
        if "spans" not in output:
            return {"tags": tags, "description": " ".join(f"{word}/{tag}" for word, tag in zip(words, tags))}
        spans = output["spans"]
        if self.notation is not None:
            tags = self.notation.write(tags, self._model.output_space.encoding)
        return {"tags": tags, "spans": sequence.spans(spans), "description": describe(words, spans)}
