"""Reads files of token-tag columns, such as CoNLL's, sentence by sentence."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Optional, Union

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import abbreviate, check_choice, counted
from seal.files.format_sniffing import is_list
from seal.files.names import clean_name
from seal.files.paths import not_empty, user_path
from seal.files.records import csv_rows
from seal.files.text_lines import BLANKS, cells_of, column_lines, without_packing

Column = Union[int, str]
"""A column: its index, from 0 or, if negative, from the end; or its name."""

_DOCUMENT_START = "-DOCSTART-"
# The usual headings, in lower case, of the columns of tokens and of tags.
_TOKEN_HEADINGS = ("word", "words", "token", "tokens", "form")
_TAG_HEADINGS = ("tag", "tags", "pos", "upos", "ner", "label", "labels")
# An id of CoNLL-U: of a word (`2`), a multi-word token (`2-3`) or an empty node (`4.1`).
_ID = re.compile(r"[0-9]+([-.][0-9]+)?")
# The usual headings, in lower case, of a column that numbers the sentences.
_SENTENCE_HEADINGS = ("sentence", "sentence #", "sentence_id", "sentence_idx", "sent_id", "sentence_number")
# A number, alone or after a name: `Sentence: 1`, `#1`, `s1`, but not `B2`, a word.
_NUMBERED = re.compile(r"(?P<what>(?:\D{0,19}[^\w]|s|sent\D{0,16})?)(?P<number>\d{1,15})", re.IGNORECASE)
_CONLL_U, _CSV = (".conllu", ".conllup"), ".csv"
_EXPECTED = "columns, a token and its tag a row and an empty line between sentences"


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
    - CoNLL-U treebanks, with a name that ends in `.conllu`: `token_column = 1`, `tag_column = 3`.

    Every row must have as many columns as the first one; a missing column would shift the others.

    # Parameters

    token_column : `Union[int, str]`, optional (default = `0`)
    tag_column : `Optional[Union[int, str]]`, optional (default = `-1`)
        The last column by default; `None` for a file without tags, or to ignore them.
    feature_columns : `Optional[dict[str, Union[int, str]]]`, optional (default = `None`)
        Further columns to read, by the names of the features.
    columns : `Optional[list[str]]`, optional (default = `None`)
        The names of all columns in order; required if columns are given by name.
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
        self._token = self._place("token_column", token_column)
        self._tag = None if tag_column is None else self._place("tag_column", tag_column)
        self._id = None if id_column is None else self._place("id_column", id_column)
        self._sentence = None if sentence_column is None else self._place("sentence_column", sentence_column)
        self._features = {
            name: self._place(f"feature_columns.{name}", column) for name, column in (feature_columns or {}).items()
        }

    @property
    def reads_tags(self) -> bool:
        return self._tag is not None

    def read(self, path: str) -> Iterator[TaggedSentence]:
        """
        Yields the sentences of a file. A tag may be empty.

        # Raises

        `ConfigurationError` for a row with too few or too many columns, an empty token, a tag that a vocabulary cannot
        hold, or an invalid id.
        """
        path = user_path(os.fspath(path))
        sentences = not_empty(self._sentences(path), f"{path}:1: the file holds no sentence.")
        for place, sentence in enumerate(sentences):
            if place == 0 and self._sentence is None and _are_numbers_of_rows(sentence.words):
                raise ConfigurationError(
                    f"{sentence.source}: the words of the first sentence are numbers: column {self._token} numbers "
                    "words or sentences; set token_column and tag_column to other columns (1 and 3 in CoNLL-U, with a "
                    f"name in .conllu), and sentence_column to {self._token} if it numbers sentences."
                )
            yield sentence

    def _sentences(self, path: str) -> Iterator[TaggedSentence]:
        width = None if self._names is None else len(self._names)
        ids = 0 if self._id is None and self._names is None and without_packing(path).endswith(_CONLL_U) else self._id
        comment = "#" if self._comment is None and ids == 0 else self._comment
        sentence, checked, sentence_id = self._start(path), False, ""
        # The rows of the first sentence, to detect a table without empty rows.
        rows: list[list[str]] = []
        collects_rows = ids is None and self._sentence is None
        for number, row, between in self._rows(path, comment):
            if not row:
                if sentence.words:
                    yield sentence
                    sentence, collects_rows = self._start(path), False
                continue
            if width is not None and len(row) != width:
                expected = f"{width} columns are named" if self._names else f"the file's first row has {width}"
                raise ConfigurationError(
                    f"{path}:{number}: found {counted(len(row), 'column')} where {expected} (separated by {between}; "
                    "a comment needs the reader's 'comment')."
                )
            if not checked:
                # The first row must have the configured columns; the others are compared with the first.
                self._check_columns(f"{path}:{number}", row, ids)
                width, checked = len(row), True
            if self._sentence is not None:
                before = sentence_id
                sentence_id = _sentence_id(f"{path}:{number}", row[self._sentence], before)
                if sentence_id != before and sentence.words:
                    yield sentence
                    sentence = self._start(path)
            elif collects_rows:
                rows.append(row)
            if ids is None or _is_word(f"{path}:{number}", row[ids]):
                self._add(sentence, number, row)
        if collects_rows:
            self._check_one_sentence(sentence, rows)
        if sentence.words:
            yield sentence

    def _check_one_sentence(self, sentence: TaggedSentence, rows: list[list[str]]) -> None:
        """Raises a `ConfigurationError` if a table without empty rows has a column that numbers sentences."""
        if not rows:
            return
        width = len(rows[0])
        used = {place % width for place in (self._token, self._tag, *self._features.values()) if place is not None}
        for place in sorted(set(range(width)) - used):
            cells = [row[place] for row in rows]
            if _are_numbers_of_rows(cells) and 1 < len(set(filter(None, cells))) < len(cells):
                raise ConfigurationError(
                    f"{sentence.source}: no empty row is between sentences, and column {place} numbers them, "
                    f"{abbreviate(cells[0])} first; set sentence_column to {place}."
                )

    def _rows(self, path: str, comment: Optional[str]) -> Iterator[tuple[int, list[str], str]]:
        """Yields `(line number, cells, name of the separator)` for each row; no cells between sentences."""
        separator = self._separator
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
                lacks_a_cell = self._tag is not None and "\t" in line and len(cells_of(line)) == 1
                separator = "tab" if "\t" in text or lacks_a_cell else "blanks"
            if separator == "tab":
                yield number, [cell.strip(BLANKS) for cell in line.rstrip("\r\n").split("\t")], "tabs"
            else:
                yield number, cells_of(line), "blanks"

    def _place(self, name: str, column: Column) -> int:
        key = f"dataset_reader.{name}"
        if isinstance(column, int):
            if self._names is not None and not -len(self._names) <= column < len(self._names):
                raise ConfigurationError(f"{key}: {column} is not a place among {len(self._names)} columns.")
            return column
        names = self._names or []
        if column not in names:
            raise ConfigurationError(f"{key}: there is no column {column!r}; 'columns' names {names or 'none'}.")
        return names.index(column)

    def _start(self, path: str) -> TaggedSentence:
        tags: Optional[list[str]] = None if self._tag is None else []
        return TaggedSentence(tags=tags, features={name: [] for name in self._features}, path=path)

    def _check_columns(self, where: str, row: list[str], ids: Optional[int]) -> None:
        wanted = [("token", self._token), ("tag", self._tag), ("id", ids), ("sentence", self._sentence)]
        wanted += self._features.items()
        for name, place in wanted:
            if place is not None and not -len(row) <= place < len(row):
                raise ConfigurationError(
                    f"{where}: found {counted(len(row), 'column')} where the {name} is in column {place} (counted "
                    "from 0)."
                )
        header = (*_TOKEN_HEADINGS, *_SENTENCE_HEADINGS), _TAG_HEADINGS
        if self._tag is not None and all(
            row[place].lower() in names for place, names in zip((self._token, self._tag), header)
        ):
            raise ConfigurationError(
                f"{where}: this line is a header, which would be read as a word like any other; remove it."
            )
        # The only column of a file cannot be both token and tag, nor can CoNLL-U's ids be words.
        for name, place, advice in (
            ("id", ids, "set token_column and tag_column (1 and 3 in CoNLL-U)"),
            ("tag", self._tag, "set token_column and tag_column, or tag_column to null for a file without tags"),
        ):
            if place is not None and place % len(row) == self._token % len(row):
                if len(row) == 1 and "," in row[0]:
                    advice = "set separator to 'comma', or put a tab or a blank between the columns"
                raise ConfigurationError(
                    f"{where}: found {counted(len(row), 'column')} where column {self._token % len(row)} would be both "
                    f"token and {name}; {advice}."
                )

    def _add(self, sentence: TaggedSentence, number: int, row: list[str]) -> None:
        cells = {"token": row[self._token]}
        cells.update({name: row[place] for name, place in self._features.items()})
        for name, cell in cells.items():
            if not cell:
                raise ConfigurationError(f"{sentence.path}:{number}: the {name} is empty.")
        sentence.words.append(row[self._token])
        sentence.lines.append(number)
        if self._tag is not None and sentence.tags is not None:
            tag, where = row[self._tag], f"{sentence.path}:{number}: the tag"
            if tag[:1] == "[" and is_list(tag):
                raise ConfigurationError(f"{where} {abbreviate(tag)} looks like a list; expected {_EXPECTED}.")
            sentence.tags.append(clean_name(tag, where))
        for name, place in self._features.items():
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


def _are_numbers_of_rows(cells: Sequence[str]) -> bool:
    """
    Whether the cells of a column number words or sentences: numbers, optionally all after the same name (`Sentence:
    1`), that are 1, 2, 3 and so on, or that are sorted with repetitions. An empty cell repeats the number before it.
    """
    matches = [_NUMBERED.fullmatch(cell) for cell in cells if cell]
    if len(cells) < 2 or not cells[0] or None in matches or len({match["what"] for match in matches if match}) > 1:
        return False
    numbers = [int(match["number"]) for match in matches if match]
    repeated = numbers == sorted(numbers) and len(set(numbers)) < len(cells)
    return repeated or numbers == list(range(1, len(cells) + 1))
