"""
Batches of tensors for sentences and frames, and limits on what is predicted at once. Each sentence is indexed once,
however many frames it has.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.nn.util import move_to_device

from seal.common.length_groups import Size, length_groups, pieces_of, size_of
from seal.common.nested_values import select_rows
from seal.predictors.words import WordSequence

logger = logging.getLogger(__name__)

#: The most words of a sentence, unless the argument `max_words` of the predictor says otherwise.
MAX_WORDS = 10_000
#: The most characters of a sentence, also as if each of its words were as long as the longest.
MAX_CHARACTERS = 2**20
#: After as many seconds without a record, and again each time they pass, standard error tells how far a batch is.
SECONDS_BETWEEN_NOTES = 10.0


class IndexedSentence:
    """
    A sentence with its indexed text field.

    # Parameters

    sequence : `WordSequence`
    reader : `DatasetReader`
        A `seal_srl` reader: words become indices as in training.
    vocab : `Vocabulary`
    words : `list[str]`, optional (default = `None`)
        The words as the model reads them, if they differ from those of the sequence.
    """

    def __init__(
        self, sequence: WordSequence, reader: DatasetReader, vocab: Vocabulary, words: Optional[list[str]] = None
    ) -> None:
        self.sequence = sequence
        self.num_words = len(sequence.words)
        self.words = sequence.words if words is None else words
        instance = reader.text_to_instance(words=self.words)
        reader.apply_token_indexers(instance)
        self.field = instance["tokens"]
        self.field.index(vocab)
        self.padding_lengths: dict[str, int] = self.field.get_padding_lengths()
        #: For `length_groups`.
        self.size = size_of(sequence.words)._replace(pieces=pieces_of(self.padding_lengths))


class Row(NamedTuple):
    """
    A row of a batch: the frame of a sentence's `predicate`, a word's index, or without one the sentence itself.
    """

    sentence: IndexedSentence
    predicate: Optional[int] = None


def as_tensors(rows: list[Row], device: int) -> dict[str, Any]:
    """
    The model's input tensors for the rows of a batch: `tokens` (`TextFieldTensors`), `predicate` (`torch.LongTensor`,
    `(rows, words)`, 1 at the predicate and 0 elsewhere) and `metadata` with the words. `device` is -1 for the CPU.
    """
    places: dict[int, int] = {}
    sentences: list[IndexedSentence] = []
    owner = []
    for row in rows:
        place = places.setdefault(id(row.sentence), len(sentences))
        if place == len(sentences):
            sentences.append(row.sentence)
        owner.append(place)
    lengths = {
        key: max(sentence.padding_lengths[key] for sentence in sentences) for key in sentences[0].padding_lengths
    }
    tokens = sentences[0].field.batch_tensors([sentence.field.as_tensor(lengths) for sentence in sentences])
    if len(sentences) < len(rows):
        tokens = select_rows(tokens, torch.tensor(owner))
    predicate = torch.zeros(len(rows), max(sentence.num_words for sentence in sentences), dtype=torch.long)
    for index, row in enumerate(rows):
        if row.predicate is not None:
            predicate[index, row.predicate] = 1
    metadata = [{"words": row.sentence.words} for row in rows]
    return {**move_to_device({"tokens": tokens, "predicate": predicate}, device), "metadata": metadata}


def check_characters(text: str) -> None:
    """It is an error if a text is too long to be split into words."""
    if len(text) > MAX_CHARACTERS:
        raise ConfigurationError(
            f"the sentence has {len(text):,} characters, and at most {MAX_CHARACTERS:,} are read; split it."
        )


def check_words(words: Sequence[str], max_words: int) -> None:
    """It is an error if a sentence has more than `max_words` words, or a word is too long beside their number."""
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


def noted_groups(sizes: Sequence[Size], most_rows: int, what: str) -> Iterator[list[int]]:
    """`length_groups`, with a note on standard error of how many of them are done wherever that takes long."""
    done, start = 0, time.monotonic()
    noted = start
    for group in length_groups(sizes, most_rows):
        yield group
        done += len(group)
        now = time.monotonic()
        if now - noted > SECONDS_BETWEEN_NOTES and done < len(sizes):
            logger.warning("%d of %d %s are done after %.0f s", done, len(sizes), what, now - start)
            noted = now
