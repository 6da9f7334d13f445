"""
Batches of tensors for sentences and frames. Each sentence is indexed once, however many frames it has.
"""

from typing import Any, NamedTuple, Optional

import torch
from allennlp.data import DatasetReader, Vocabulary
from allennlp.nn.util import move_to_device

from seal.common.length_groups import pieces_of, size_of
from seal.common.nested_values import select_rows
from seal.predictors.words import WordSequence


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
