"""
Finds the predicates of a sentence, and batches of tensors for sentences and frames, in which each sentence is indexed
once, however many frames it has.
"""

import sys
from typing import Any, NamedTuple, Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.nn.util import move_to_device

from seal.allennlp.safe_archives import open_archive
from seal.common.length_groups import pieces_of, size_of
from seal.tasks.base.sentence_predictor import groups_with_progress
from seal.tasks.base.words import WordSequence
from seal.tasks.srl.model import SrlModel
from seal.tasks.srl.reader import SrlReader
from seal.tasks.tagging import TaggingModel
from seal.tasks.tagging.predictor import TaggingPredictor
from seal.two_player.objectives import select_rows

#: Modal verbs as treebanks split them off, to which PropBank gives no frame.
MODALS = frozenset(
    "can ca could may might must ought shall sha should will wo would 'd 'll \u2019d \u2019ll d ll".split()
)


class IndexedSentence:
    """
    A sentence with its indexed text field.

    # Parameters

    sequence : `WordSequence`
    reader : `SrlReader`
        Words become indices as in training.
    vocab : `Vocabulary`
    words : `list[str]`, optional (default = `None`)
        The words as the model reads them, if they differ from those of the sequence.
    """

    def __init__(
        self, sequence: WordSequence, reader: SrlReader, vocab: Vocabulary, words: Optional[list[str]] = None
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


class PredicateFinder:
    """Finds the words of sentences that are predicates."""

    def find(self, sentences: list[IndexedSentence]) -> list[list[int]]:
        """The indices of each sentence's predicates, ascending."""
        raise NotImplementedError


class ModelPredicateFinder(PredicateFinder):
    """
    Finds predicates by the head that was trained with the model. Sentences go through the task-net with no predicate
    marked.

    # Parameters

    model : `SrlModel`
    device : `int`
        The model's GPU; -1 for the CPU.
    threshold : `float`, optional (default = `0.5`)
        Words with at least this probability are predicates.
    batch_size : `int`, optional (default = `64`)
        The most sentences of one pass.
    """

    def __init__(self, model: SrlModel, device: int, threshold: float = 0.5, batch_size: int = 64) -> None:
        self._model: Any = model
        self._device = device
        self._threshold = threshold
        self._batch_size = batch_size

    # Not `torch.inference_mode`, in which inference by an energy could not switch on the gradients that it needs.
    @torch.no_grad()
    def find(self, sentences: list[IndexedSentence]) -> list[list[int]]:
        rows = [Row(sentence) for sentence in sentences]
        found: list[list[int]] = [[] for _ in rows]
        sizes = [sentence.size for sentence in sentences]
        for places in groups_with_progress(sizes, self._batch_size, "sentences' predicates"):
            inputs = as_tensors([rows[place] for place in places], self._device)
            # Not the model's `forward`, which also decodes tags: without a predicate these have no meaning.
            logits = self._model.predicate_logits(self._model.task_net(inputs).hidden)
            for place, marks in zip(places, (logits.sigmoid() >= self._threshold).tolist()):
                marks = marks[: sentences[place].num_words]
                found[place] = [index for index, mark in enumerate(marks) if mark]
        return found


class TaggerPredicateFinder(PredicateFinder):
    """
    Finds predicates by the tags of a `seal_tagging` model, and those that another finder finds beside them: words with
    the tag `VERB` or `AUX` (Universal Dependencies), `V` (tweets) or one that begins with `VB` (Penn Treebank). Modal
    verbs, which have `AUX` or `V` as well, are recognised by the word.

    # Parameters

    archive_file : `str`
        The tagging model's archive, its folder, or its name on a hub.
    device : `int`
        A GPU; -1 for the CPU.
    beside : `PredicateFinder`
        Such as the head of the model, which may know nouns that are predicates.

    # Raises

    `ConfigurationError` if it is no tagging model, or has no such tag.
    """

    def __init__(self, archive_file: str, device: int, beside: PredicateFinder) -> None:
        archive = open_archive(archive_file, device)
        if not isinstance(archive.model, TaggingModel):
            raise ConfigurationError(f"predicates_from: {archive_file} is no 'seal_tagging' model; name one.")
        tags = archive.model.output_space.labels
        if not any(map(is_verb_tag, tags)):
            raise ConfigurationError(
                f"predicates_from: {archive_file} tags no verbs; its tags are {', '.join(tags[:8])}, and VERB, AUX, V "
                "or VB... are looked for."
            )
        features = getattr(archive.dataset_reader, "feature_names", [])
        if features:
            raise ConfigurationError(
                f"predicates_from: {archive_file} reads {', '.join(features)} beside the words; name a tagger of words."
            )
        self._tagger = TaggingPredictor(archive.model, archive.dataset_reader, max_words=sys.maxsize)
        self._beside = beside

    def find(self, sentences: list[IndexedSentence]) -> list[list[int]]:
        words = [sentence.sequence.words for sentence in sentences]
        records = self._tagger.records([self._tagger.prepare({"words": each}) for each in words])
        # A tagger whose energy is not finite tags nothing.
        tags = [record.get("tags", []) for record in records]
        return [
            sorted({*other, *(place for place, tag in enumerate(named) if is_verb_tag(tag, each[place]))})
            for each, named, other in zip(words, tags, self._beside.find(sentences))
        ]


def is_verb_tag(tag: str, word: str = "") -> bool:
    """Whether a tag, of any of the tag sets, names a verb with a frame; see `TaggerPredicateFinder`."""
    if tag in ("AUX", "V"):
        return word.lower() not in MODALS
    return tag == "VERB" or tag.startswith("VB")
