"""
Reads sentences with tags from JSON lines: words with a tag each, or a text with the places of its entities.
"""

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import abbreviate, check_that, keys_of
from seal.common.tag_encodings import convert_tags
from seal.files.names import clean_label, clean_name
from seal.files.paths import not_empty, user_path
from seal.files.records import is_accepted, json_records
from seal.files.text_lines import text_lines, without_packing
from seal.tasks.base.words import WordSequence, WordSplitter
from seal.tasks.tagging.column_places import Column
from seal.tasks.tagging.columns import TaggedSentence

#: The endings of files with JSON lines.
ENDINGS = (".jsonl", ".ndjson", ".json")
# Where words, their tags, texts and entities usually are.
_WORDS = ("tokens", "words", "token")
_TAGS = ("tags", "ner_tags", "labels", "ner", "pos_tags", "upos", "pos", "chunk_tags")
_TEXTS = ("text", "sentence", "data")
_ENTITIES = ("spans", "entities", "labels", "label")
_EXPECTED = "JSON lines, an object with words and their tags, or with a text and its entities, a line"

logger = logging.getLogger(__name__)


class Entity(NamedTuple):
    """An entity of a text, from character `start` to before character `end`."""

    start: int
    end: int
    label: str


@dataclass
class TagRecords:
    """
    Reads JSON lines, an object a line. UTF-8, plain or compressed. An object has either

    - words, a list of strings under `tokens` or `words`, and a tag for each, a list under `tags`, `ner_tags`, `labels`
      or another usual name. The lines of Hugging Face's data sets are such (`to_json`); they write tags as numbers,
      whose names `label_names` gives;
    - or a text, under `text`, and its entities, under `spans`, `entities` or `label`: each `[start, end, label]`, as
      doccano and spaCy write them, or an object with `start`, `end` and `label` (Prodigy) or `labels` of one (Label
      Studio). `end` is the place after the last character. The text is split into words, which are tagged in BIO, or in
      the reader's `encoding`. An entity that begins or ends inside a word takes the whole word, and one warning tells
      how many there are. Lines that Prodigy marks as rejected or ignored are left out.

    # Parameters

    token_key, tag_key : `Optional[str]`
        The keys of the words or the text, and of the tags or the entities; `None`: the usual ones.
    reads_tags : `bool`
        Whether tags or entities are read.
    feature_keys : `dict[str, Any]`
        The keys of further lists, with a string for each word, by the names of the features.
    label_names : `Optional[list[str]]`
        The names of tags that are written as numbers, from 0.
    encoding : `Optional[str]`
        The encoding of the tags that are made of entities, where it is BIOES; otherwise BIO.
    splitter : `WordSplitter`
        Splits texts into words.
    """

    token_key: Optional[str]
    tag_key: Optional[str]
    reads_tags: bool
    feature_keys: dict[str, Any]
    label_names: Optional[list[str]]
    encoding: Optional[str]
    splitter: WordSplitter
    # The files whose entities with a border inside a word were reported.
    _reported: set[str] = field(default_factory=set)

    @staticmethod
    def takes(path: str) -> bool:
        """Whether a file holds JSON lines, by its name."""
        return without_packing(os.fspath(path)).endswith(ENDINGS)

    def read(self, path: str) -> Iterator[TaggedSentence]:
        """
        Yields the sentences of a file.

        # Raises

        `ConfigurationError` for a line that is no such object, tags that do not number the words, and entities that
        overlap or are outside the text.
        """
        path = user_path(os.fspath(path))
        return not_empty(self._sentences(path), f"{path}:1: the file holds no sentence.")

    def _sentences(self, path: str) -> Iterator[TaggedSentence]:
        inside_words: list[int] = []
        for number, record in json_records(path, text_lines(path, _EXPECTED, json_lines=True), "an object"):
            if not is_accepted(record):
                continue
            where = f"{path}:{number}"
            text_key = self._text_key(record)
            if text_key is None:
                words, tags = self._words_and_tags(record, where)
            else:
                sequence = self.splitter.split(record[text_key])
                words, tags = sequence.words, None
                if self.reads_tags:
                    tags, number_inside = self._tags_of(sequence, self._entities(record, where), where)
                    inside_words += [number] * number_inside
            if words:
                features = {name: _feature(record, key, len(words), where) for name, key in self.feature_keys.items()}
                yield TaggedSentence(words, tags, features, path, [number] * len(words))
        if inside_words and path not in self._reported:
            self._reported.add(path)
            logger.warning(
                "%s: entities that begin or end inside a word: %d, the first in line %d; they take the whole word",
                path,
                len(inside_words),
                inside_words[0],
            )

    def _text_key(self, record: dict[str, Any]) -> Optional[str]:
        """The key of the text; `None` where the object has words with their tags."""
        key = next((key for key in _keys(self.token_key, _TEXTS) if isinstance(record.get(key), str)), None)
        # Some objects have the text beside words and their tags, others its tokens beside the entities.
        has_words = any(_are_words(record.get(key)) for key in _keys(self.token_key, _WORDS))
        has_tags, has_entities = (
            any(name in record for name in _keys(self.tag_key, names)) for names in (_TAGS, _ENTITIES)
        )
        return None if has_words and (has_tags or not has_entities) else key

    def _words_and_tags(self, record: dict[str, Any], where: str) -> tuple[list[str], Optional[list[str]]]:
        key = next((key for key in _keys(self.token_key, _WORDS) if key in record), None)
        if key is None:
            wanted = ", ".join(_keys(self.token_key, (*_WORDS, *_TEXTS)))
            raise ConfigurationError(
                f"{where}: words or a text are needed under one of {wanted}, found {keys_of(record)}; if another key "
                "holds them, name it as token_column."
            )
        words = record[key]
        check_that(_are_words(words), f"{where}: {key!r}", "a list of words", words)
        if not self.reads_tags:
            return words, None
        usual = tuple(key for key in _TAGS if key not in self.feature_keys.values())
        key = _one_key(record, self.tag_key, usual, "tags", where)
        tags = _list_for_words(record, key, len(words), f"{where}: {key!r}")
        return words, [self._tag(tag, f"{where}: {key!r}") for tag in tags]

    def _tag(self, tag: Any, where: str) -> str:
        if isinstance(tag, str):
            return clean_name(tag, where)
        # `True` is an `int`, but not a number.
        check_that(type(tag) is int, where, "strings or whole numbers", tag)
        if self.label_names is None:
            raise ConfigurationError(
                f"{where}: the tags are numbers; give their names, from 0 on, as dataset_reader.label_names (in a data "
                "set of Hugging Face, dataset.features[...].feature.names)."
            )
        check_that(0 <= tag < len(self.label_names), where, f"the number of one of {len(self.label_names)} names", tag)
        return self.label_names[tag]

    def _entities(self, record: dict[str, Any], where: str) -> list[Entity]:
        key = _one_key(record, self.tag_key, _ENTITIES, "entities", where)
        items, where = record[key], f"{where}: {key!r}"
        check_that(isinstance(items, list), where, "a list of entities", items)
        return sorted(_entity(item, where) for item in items)

    def _tags_of(self, sequence: WordSequence, entities: list[Entity], where: str) -> tuple[list[str], int]:
        """The tags of a text's words, and the number of entities that begin or end inside a word."""
        tags, inside_words = ["O"] * len(sequence.words), 0
        for entity in entities:
            part = sequence.text[entity.start : entity.end]
            if not 0 <= entity.start < entity.end <= len(sequence.text) or not part.strip():
                raise ConfigurationError(
                    f"{where}: the entity from {entity.start} to {entity.end} holds no word of the text, which has "
                    f"{len(sequence.text)} characters."
                )
            # Annotators often mark the space behind a word, too.
            start, end = entity.start + len(part) - len(part.lstrip()), entity.end - len(part) + len(part.rstrip())
            places = [place for place, (first, last) in enumerate(sequence.offsets) if first < end and start < last]
            if any(tags[place] != "O" for place in places):
                raise ConfigurationError(
                    f"{where}: the entity {abbreviate(part)} overlaps another one; a sequence of tags cannot hold both."
                )
            borders = sequence.offsets[places[0]][0], sequence.offsets[places[-1]][1]
            inside_words += borders != (start, end)
            for place in places:
                tags[place] = f"{'I' if place > places[0] else 'B'}-{entity.label}"
        return (convert_tags(tags, "BIO", "BIOES") if self.encoding == "BIOES" else tags), inside_words


def _keys(named: Optional[str], usual: tuple[str, ...]) -> tuple[str, ...]:
    return usual if named is None else (named,)


def _one_key(record: dict[str, Any], named: Optional[str], usual: tuple[str, ...], what: str, where: str) -> str:
    """The key of tags or entities, of which there must be one."""
    found = [key for key in _keys(named, usual) if key in record]
    if not found:
        raise ConfigurationError(
            f"{where}: {what} are needed under one of {', '.join(_keys(named, usual))}, found {keys_of(record)}; if "
            "another key holds them, name it as tag_column."
        )
    if len(found) > 1:
        raise ConfigurationError(f"{where}: {what} are under {' and '.join(found)}; name one of them as tag_column.")
    return found[0]


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) and word.strip() for word in value)


def _list_for_words(record: dict[str, Any], key: str, number: int, where: str) -> list[Any]:
    values = record.get(key)
    fits = isinstance(values, list) and len(values) == number
    check_that(fits, where, f"a list of {number}, one for each word", values)
    return record[key]


def _feature(record: dict[str, Any], key: Column, number: int, where: str) -> list[str]:
    values = _list_for_words(record, str(key), number, f"{where}: {str(key)!r}")
    check_that(_are_words(values), f"{where}: {str(key)!r}", "a list of strings", values)
    return values


def _entity(item: Any, where: str) -> Entity:
    """An entity as doccano and spaCy write it, a list, or as Prodigy and Label Studio do, an object."""
    if isinstance(item, dict):
        label = item.get("label", item.get("labels"))
        # Label Studio's list of labels has one.
        item = [item.get("start"), item.get("end"), label[0] if isinstance(label, list) and len(label) == 1 else label]
    fits = isinstance(item, list) and [type(part) for part in item] == [int, int, str]
    check_that(fits, f"{where}: an entity", "[start, end, label] or an object with these keys", item)
    return Entity(item[0], item[1], clean_label(item[2], f"{where}: the label"))
