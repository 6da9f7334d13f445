"""Reads files of token-tag columns, such as CoNLL's, sentence by sentence."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import abbreviate, check_choice, counted
from seal.files.format_sniffing import is_list
from seal.files.names import clean_name
from seal.files.paths import not_empty, user_path
from seal.files.records import csv_rows
from seal.files.text_lines import BLANKS, cells_of, column_lines, without_packing
from seal.tasks.tagging.column_places import Column, ColumnFinder, Places, are_numbers_of_rows

_DOCUMENT_START = "-DOCSTART-"
# An id of CoNLL-U: of a word (`2`), a multi-word token (`2-3`) or an empty node (`4.1`).
_ID = re.compile(r"[0-9]+([-.][0-9]+)?")
_CSV = ".csv"
_EXPECTED = (
    "columns, a token and its tag a row and an empty line between sentences (or JSON lines, in a file that ends in "
    ".jsonl)"
)


@dataclass
class TaggedSentence:
    """
    A sentence of a file.

    # Parameters

    words : `list[str]`
        The tokens, at least one.
    tags : `Optional[list[str]]`
        The tags in the file's notation, one per word; `None` if no column holds tags.
    features : `dict[str, list[str]]`
        The further columns by name, each with one string per word.
    path : `str`
    lines : `list[int]`
        The line of each word, counted from 1.
    """

    words: list[str] = field(default_factory=list)
    tags: Optional[list[str]] = None
    features: dict[str, list[str]] = field(default_factory=dict)
    path: str = ""
    lines: list[int] = field(default_factory=list)

    @property
    def source(self) -> str:
        """`file:line` of the first word."""
        return f"{self.path}:{self.lines[0]}"


class TagColumns:
    """
    Reads files with one token per row, in columns, and an empty line between sentences. UTF-8, plain or compressed
    (`.gz`, `.bz2`, `.xz`).

    - Twitter POS, WNUT-17, Cora: two columns, the token and its tag; the defaults read them.
    - CoNLL-2003: four, `columns = ["word", "pos", "chunk", "ner"]`. Rows that begin with `-DOCSTART-` are skipped.
    - CoNLL-U treebanks, with a name that ends in `.conllu`: the forms and, unless `tag_column` names others, the
      universal tags.
    - Tables with a header, such as `Sentence #,Word,POS,Tag`: unless the parameters say otherwise, words are in the
      column called `word`, `token` or `form`, tags in the last one, and a column called `sentence` or `sentence_id`
      numbers the sentences.

    Every row must have as many columns as the first one; a missing column would shift the others.

    # Parameters

    token_column : `Union[int, str]`, optional (default = `0`)
    tag_column : `Optional[Union[int, str]]`, optional (default = `-1`)
        The last column by default; `None` for a file without tags, or to ignore them.
    feature_columns : `Optional[dict[str, Union[int, str]]]`, optional (default = `None`)
        Further columns to read, by the names of the features.
    columns : `Optional[list[str]]`, optional (default = `None`)
        The names of all columns in order. Without it, a column that is given by its name is looked for in the header.
    separator : `Optional[str]`, optional (default = `None`)
        `"tab"`: one tab, so that a token may hold blanks. `"blanks"`: any number of blanks and tabs. `"comma"`: CSV, as
        spreadsheets write it, where an empty row ends a sentence. `None`: CSV if the file's name ends in `.csv`; else a
        tab if the file's first row has one; else blanks.
    comment : `Optional[str]`, optional (default = `None`)
        Lines that begin with this are skipped. `None`: `#` in a file whose first column holds ids. In other files no
        line is skipped, because a token may begin with any character, such as the `#` of hashtags.
    id_column : `Optional[Union[int, str]]`, optional (default = `None`)
        The column of CoNLL-U's ids. Rows of multi-word tokens (`2-3`) and empty nodes (`4.1`) are skipped. `None`: the
        column `id` of `columns`; without `columns`, the first column of a file whose name ends in `.conllu`, optionally
        followed by `.gz`, `.bz2` or `.xz`.
    sentence_column : `Optional[Union[int, str]]`, optional (default = `None`)
        The column with the number or name of each row's sentence, for a table without empty rows. A new value begins a
        sentence; an empty cell repeats the value of the row before.

    # Raises

    `ConfigurationError` if a named column is not in `columns`, or the separator is unknown.
    """

    def __init__(
        self,
        token_column: Column = 0,
        tag_column: Optional[Column] = -1,
        feature_columns: Optional[dict[str, Column]] = None,
        columns: Optional[list[str]] = None,
        separator: Optional[str] = None,
        comment: Optional[str] = None,
        id_column: Optional[Column] = None,
        sentence_column: Optional[Column] = None,
    ) -> None:
        check_choice("dataset_reader.separator", separator, ("tab", "blanks", "comma", None))
        if id_column is None and "id" in (columns or ()):
            id_column = "id"
        self._names = columns
        self._separator = separator
        self._comment = comment
        settings = {"token_column": token_column, "tag_column": tag_column, "id_column": id_column}
        settings["sentence_column"] = sentence_column
        self._features = list(feature_columns or {})
        self._finder = ColumnFinder(settings, feature_columns or {}, columns)

    @property
    def reads_tags(self) -> bool:
        return self._finder.settings["tag_column"] is not None

    def read(self, path: str) -> Iterator[TaggedSentence]:
        """
        Yields the sentences of a file. A tag may be empty.

        # Raises

        `ConfigurationError` for a row with too few or too many columns, an empty token, a tag that a vocabulary cannot
        hold, or an invalid id.
        """
        path = user_path(os.fspath(path))
        sentences = not_empty(self._sentences(path), f"{path}:1: the file holds no sentence.")
        settings = self._finder.settings
        for place, sentence in enumerate(sentences):
            if place == 0 and settings["sentence_column"] is None and are_numbers_of_rows(sentence.words):
                column = settings["token_column"]
                raise ConfigurationError(
                    f"{sentence.source}: the words of the first sentence are numbers: column {column} numbers words or "
                    "sentences; set token_column and tag_column to other columns (1 and 3 in CoNLL-U, with a name in "
                    f".conllu), and sentence_column to {column} if it numbers sentences."
                )
            yield sentence

    def _sentences(self, path: str) -> Iterator[TaggedSentence]:
        width = None if self._names is None else len(self._names)
        places: Optional[Places] = None
        sentence, sentence_id = self._start(path), ""
        # The rows of the first sentence, to detect a table without empty rows.
        rows: list[list[str]] = []
        collects_rows = False
        for number, row, between in self._rows(path):
            if not row:
                if sentence.words:
                    yield sentence
                    sentence, collects_rows = self._start(path), False
                continue
            self._check_width(path, number, row, width, between)
            if places is None:
                width = len(row)
                places, has_header = self._finder.places(path, number, row)
                collects_rows = places.id is None and places.sentence is None
                if has_header:
                    continue
            if places.sentence is not None:
                before = sentence_id
                sentence_id = _sentence_id(f"{path}:{number}", row[places.sentence], before)
                if sentence_id != before and sentence.words:
                    yield sentence
                    sentence = self._start(path)
            elif collects_rows:
                rows.append(row)
            if places.id is None or _is_word(f"{path}:{number}", row[places.id]):
                _add(sentence, number, row, places)
        if collects_rows and places is not None:
            _check_one_sentence(sentence, rows, places)
        if sentence.words:
            yield sentence

    def _rows(self, path: str) -> Iterator[tuple[int, list[str], str]]:
        """Yields `(line number, cells, name of the separator)` for each row; no cells between sentences."""
        separator = self._separator
        comment = "#" if self._comment is None and self._finder.begins_with_ids(path) else self._comment
        lines = column_lines(path, _EXPECTED)
        if comment is not None:
            lines = ((number, line) for number, line in lines if not line.startswith(comment))
        if separator == "comma" or (separator is None and without_packing(path).endswith(_CSV)):
            for number, cells in csv_rows(path, lines):
                row = [cell.strip(BLANKS) for cell in cells]
                yield number, row if any(row) and row[0] != _DOCUMENT_START else [], "commas"
            return
        for number, line in lines:
            text = line.strip(BLANKS)
            if not text or (text.startswith(_DOCUMENT_START) and cells_of(text)[0] == _DOCUMENT_START):
                yield number, [], ""
                continue
            if separator is None:
                # A tab at the end of the line may separate an empty cell.
                lacks_a_cell = self.reads_tags and "\t" in line and len(cells_of(line)) == 1
                separator = "tab" if "\t" in text or lacks_a_cell else "blanks"
            if separator == "tab":
                yield number, [cell.strip(BLANKS) for cell in line.rstrip("\r\n").split("\t")], "tabs"
            else:
                yield number, cells_of(line), "blanks"

    def _check_width(self, path: str, number: int, row: list[str], width: Optional[int], between: str) -> None:
        """Every row must have as many cells as there are names or, without names, as the first row has."""
        if width is not None and len(row) != width:
            expected = f"{width} columns are named" if self._names else f"the file's first row has {width}"
            raise ConfigurationError(
                f"{path}:{number}: found {counted(len(row), 'column')} where {expected} (separated by {between}; a "
                "comment needs the reader's 'comment')."
            )

    def _start(self, path: str) -> TaggedSentence:
        features: dict[str, list[str]] = {name: [] for name in self._features}
        return TaggedSentence(tags=[] if self.reads_tags else None, features=features, path=path)


def _check_one_sentence(sentence: TaggedSentence, rows: list[list[str]], places: Places) -> None:
    """Raises a `ConfigurationError` if a table without empty rows has a column that numbers sentences."""
    if not rows:
        return
    width = len(rows[0])
    used = {place % width for place in (places.token, places.tag, *places.features.values()) if place is not None}
    for place in sorted(set(range(width)) - used):
        cells = [row[place] for row in rows]
        if are_numbers_of_rows(cells) and 1 < len(set(filter(None, cells))) < len(cells):
            raise ConfigurationError(
                f"{sentence.source}: no empty row is between sentences, and column {place} numbers them, "
                f"{abbreviate(cells[0])} first; set sentence_column to {place}."
            )


def _add(sentence: TaggedSentence, number: int, row: list[str], places: Places) -> None:
    cells = {"token": row[places.token]}
    cells.update({name: row[place] for name, place in places.features.items()})
    for name, cell in cells.items():
        if not cell:
            raise ConfigurationError(f"{sentence.path}:{number}: the {name} is empty.")
    sentence.words.append(row[places.token])
    sentence.lines.append(number)
    if places.tag is not None and sentence.tags is not None:
        tag, where = row[places.tag], f"{sentence.path}:{number}: the tag"
        if tag[:1] == "[" and is_list(tag):
            raise ConfigurationError(f"{where} {abbreviate(tag)} looks like a list; expected {_EXPECTED}.")
        sentence.tags.append(clean_name(tag, where))
    for name, place in places.features.items():
        sentence.features[name].append(row[place])


def _sentence_id(where: str, cell: str, before: str) -> str:
    """The value of the sentence column for a row; an empty cell repeats the value `before`."""
    if not (cell or before):
        raise ConfigurationError(f"{where}: the sentence of the first row is empty.")
    return cell or before


def _is_word(where: str, id_: str) -> bool:
    match = _ID.fullmatch(id_)
    if match is None:
        raise ConfigurationError(
            f"{where}: {id_[:40]!r} is not an id of CoNLL-U, such as 2, 2-3 or 4.1; set id_column, or 'columns' with "
            "another name for it."
        )
    return match[1] is None
