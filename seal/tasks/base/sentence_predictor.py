"""The base class of the predictors of sentences, their requests, and the limits on the length of a sentence."""

import logging
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField
from allennlp.models import Model

from seal.common.length_groups import Size, length_groups, size_of
from seal.common.setting_checks import check_that, check_whole, keys_of, require
from seal.files.names import check_text
from seal.files.records import read_json
from seal.tasks.base.fields import field_of
from seal.tasks.base.predictor import (
    LinePredictor,
    decodable,
    finite,
    probabilities_of,
    without,
)
from seal.tasks.base.words import SplitAsTrained, WordSequence, WordSplitter, join_words

logger = logging.getLogger(__name__)

#: The default of the predictors' argument `max_words`.
MAX_WORDS = 10_000
#: The most characters of a sentence, and the most of its number of words times its longest word (the padded size).
MAX_CHARACTERS = 2**20
#: The seconds between two messages about the progress of a batch.
SECONDS_BETWEEN_NOTES = 10.0


def check_characters(text: str) -> None:
    """
    Raises a `ConfigurationError` if a text has more than `MAX_CHARACTERS` characters, too many to split into words.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigurationError(
            f"the sentence has {len(text):,} characters, and at most {MAX_CHARACTERS:,} are read; split it."
        )


def check_words(words: Sequence[str], max_words: int) -> None:
    """
    Raises a `ConfigurationError` if a sentence has more than `max_words` words, or if the number of words times the
    length of the longest is above `MAX_CHARACTERS`.
    """
    size = size_of(words)
    if size.words > max_words:
        raise ConfigurationError(
            f"the sentence has {size.words:,} words, and at most {max_words:,} are read; split it, or raise the "
            "predictor's max_words."
        )
    if size.words * size.longest_word > MAX_CHARACTERS:
        raise ConfigurationError(
            f"the sentence has {size.words:,} words, the longest of {size.longest_word:,} characters, and the product "
            f"of the two may be at most {MAX_CHARACTERS:,}; split the sentence, or shorten the word."
        )


def groups_with_progress(sizes: Sequence[Size], most_rows: int, what: str) -> Iterator[list[int]]:
    """Yields the groups of `length_groups` and logs the progress every `SECONDS_BETWEEN_NOTES` seconds."""
    done, start = 0, time.monotonic()
    noted = start
    for group in length_groups(sizes, most_rows):
        yield group
        done += len(group)
        now = time.monotonic()
        if now - noted > SECONDS_BETWEEN_NOTES and done < len(sizes):
            logger.warning("%d of %d %s are done after %.0f s", done, len(sizes), what, now - start)
            noted = now


class SentenceRequest(NamedTuple):
    """
    A sentence to predict, as raw text or as words.

    # Parameters

    sentence : `str`, optional
        Raw text; `None` if `words` is given.
    words : `list[str]`, optional
        `None` if `sentence` is given.
    predicates : `list[int]`, optional
        Distinct indices of words, in the order given; `None` if the model finds the predicates.
    """

    sentence: Optional[str]
    words: Optional[list[str]]
    predicates: Optional[list[int]]


def read_line(line: str) -> dict[str, Any]:
    """
    Parses a line into the object that `read_request` takes. A line that starts with `{` is a JSON object; any other
    line is a sentence, `{"sentence": line}`.
    """
    line = decodable(line)
    if not line.lstrip().startswith("{"):
        return {"sentence": line}
    return read_json(line, "the line starts with '{' and is not JSON")


def read_request(inputs: JsonDict) -> SentenceRequest:
    """Reads the request from an object with either `sentence`, or `words` and optionally `predicates`."""
    values: list[Any] = [inputs.get(key) for key in ("sentence", "words", "predicates")]
    sentence, words, predicates = values
    both = words is not None and sentence is not None
    if both or "words" not in inputs and "sentence" not in inputs:
        raise ConfigurationError(f"the object needs one of 'sentence' and 'words', found {keys_of(inputs)}.")
    if words is None and "sentence" in inputs:
        _check_text(sentence, "'sentence'")
        check_that(predicates is None, "'predicates'", "beside 'words', not 'sentence'", predicates)
        return SentenceRequest(sentence, None, None)
    check_that(isinstance(words, list) and bool(words), "'words'", "a list of one or more strings", words)
    for index, word in enumerate(words):
        _check_text(word, f"word {index}")
    return SentenceRequest(None, words, None if predicates is None else _indices(predicates, len(words)))


def _check_text(text: Any, name: str) -> None:
    check_that(isinstance(text, str), name, "a string", text)
    if not text or text.isspace():
        raise ConfigurationError(f"{name} is blank.")
    check_text(text, name)


def _indices(predicates: Any, num_words: int) -> list[int]:
    check_that(isinstance(predicates, list), "'predicates'", "a list of indices", predicates)
    for index in predicates:
        # `True` is an `int`, but not an index.
        is_index = type(index) is int and 0 <= index < num_words
        check_that(is_index, "each of 'predicates'", f"the index of a word, 0 to {num_words - 1} here", index)
    return list(dict.fromkeys(predicates))


class PartOfText(str):
    """The substring `[start, end)` of a text, which also remembers the text and `start`."""

    def __new__(cls, whole: str, start: int, end: int) -> "PartOfText":
        part = super().__new__(cls, whole[start:end])
        part.whole, part.start = whole, start
        return part

    whole: str
    start: int


class SentencePredictor(LinePredictor):
    """
    The base class of the predictors of sentences. A line is a sentence as plain text or, if it starts with `{`, a JSON
    object with `sentence` or `words`. By default a sentence is one instance; `_record` turns the model's output for it
    into the record.

    # Parameters

    model, dataset_reader, frozen, energy, unknown :
        As in `LinePredictor`.
    splitter : `WordSplitter`
        Splits text into words.
    max_words : `int`
        The predictor reports a sentence with more words as an error.
    split_sentences : `bool`, optional (default = `False`)
        Split plain text, and the value of `sentence`, into sentences. If there are several, the record lists their
        records under `sentences`. Their `offsets` refer to the whole text.

    # Raises

    `ConfigurationError` if `max_words` is out of range, or `split_sentences` is set and the splitter is not English.
    """

    wanted = "'sentence' or 'words'"

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool,
        energy: bool,
        splitter: WordSplitter,
        max_words: int,
        split_sentences: bool = False,
        **unknown: Any,
    ) -> None:
        super().__init__(model, dataset_reader, frozen, energy, **unknown)
        check_whole("max_words", max_words, least=1)
        self._max_words = max_words
        self._split = SplitAsTrained(splitter, model.vocab)
        self._splitter = splitter
        self.set_splitting(split_sentences)

    def set_splitting(self, split_sentences: Optional[bool]) -> None:
        """Sets the constructor's argument `split_sentences`; `None`: True if the splitter is English."""
        check_that(split_sentences in (True, False, None), "split_sentences", "true or false", split_sentences)
        can_split = self._splitter.finds_sentences
        if split_sentences and not can_split:
            raise ConfigurationError(
                "split_sentences: the model reads tweets, or text that is tokenized; give one sentence at a time."
            )
        self._splits = can_split if split_sentences is None else split_sentences

    def request(self, given: Any) -> JsonDict:
        """Turns a text, `str`, or an object, `dict`, into a request."""
        check_that(isinstance(given, (str, dict)), "the input", f"a text or an object with {self.wanted}", given)
        return {"sentence": given} if isinstance(given, str) else given

    def read(self, line: str) -> JsonDict:
        return read_line(line)

    def requests(self, inputs: JsonDict) -> list[JsonDict]:
        text = read_request(inputs).sentence
        if text is None or not self._splits:
            return [inputs]
        check_characters(text)
        places = self._splitter.sentences(text)
        return [{**inputs, "sentence": PartOfText(text, start, end)} for start, end in places]

    def _sequence(self, request: SentenceRequest) -> tuple[WordSequence, list[str]]:
        """The words as the record shows them, and the words as the model reads them."""
        if request.words is not None:
            sequence, words = join_words(request.words), request.words
        else:
            text = require(request.sentence, "a sentence")
            check_characters(text)
            sequence, words = self._split(text)
            if isinstance(text, PartOfText):
                sequence = sequence.inside(text.whole, text.start)
        check_words(sequence.words, self._max_words)
        return sequence, words

    def prepare(self, inputs: JsonDict) -> Any:
        sequence, words = self._sequence(read_request(inputs))
        instance = self._dataset_reader.text_to_instance(words, **self._more(inputs))
        self._dataset_reader.apply_token_indexers(instance)
        return sequence, instance

    def _more(self, inputs: JsonDict) -> dict[str, Any]:
        """Further arguments of the reader's `text_to_instance`; raises a `ConfigurationError` if one is faulty."""
        return {}

    def records(self, prepared: list[Any]) -> list[JsonDict]:
        self._set_model()
        records: list[JsonDict] = [{} for _ in prepared]
        sizes = [size_of(sequence.words) for sequence, _ in prepared]
        for places in groups_with_progress(sizes, len(prepared), "sentences"):
            outputs = self._model.forward_on_instances([prepared[place][1] for place in places])
            for place, output in zip(places, outputs):
                records[place] = self._record(prepared[place][0], output)
        return records

    def _record(self, sequence: WordSequence, output: dict[str, Any]) -> JsonDict:
        """
        The record of a sentence: words, offsets, the entries of `_found`, probabilities and, if asked for, energy.
        """
        prediction = self._found(sequence, output)
        if "error" in prediction:
            return prediction
        record = {"words": sequence.words, "offsets": sequence.offsets, **prediction}
        # A sum of rounded logarithms may be a little over 0.
        own = finite(math.exp(min(float(output["log_prob"]), 0.0)))
        record |= probabilities_of(output.get("probability"), own)
        if self._energy:
            record["energy"] = finite(float(output["energy"]))
        return record

    def _found(self, sequence: WordSequence, output: dict[str, Any]) -> JsonDict:
        """The entries of the record that hold the predicted output, or `error`."""
        raise NotImplementedError

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        """Predicts instances of a reader (`--use-dataset-reader`), ignoring their gold, and returns the records."""
        self.note_gold(instances)
        metadata = [field_of(instance, "metadata", MetadataField).metadata for instance in instances]
        instances = [without(instance, self._model.gold_key) for instance in instances]
        records = self.records(list(zip([join_words(item["words"]) for item in metadata], instances)))
        return [{"id": item["source"], **record} for item, record in zip(metadata, records)]
