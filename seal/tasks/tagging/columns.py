"""Token-tag columns as plain records, sentence by sentence."""

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
"""A column by its place, counted from 0 or, below 0, from the last; or by its name."""

_DOCUMENT_START = "-DOCSTART-"
# What a header, in lower case, has over the columns of tokens and of tags.
_HEADINGS_OF_TOKENS = ("word", "words", "token", "tokens", "form")
_HEADINGS_OF_TAGS = ("tag", "tags", "pos", "upos", "ner", "label", "labels")
# An id of CoNLL-U: of a word, or of a row that is not a word but a multi-word token (`2-3`) or an empty node (`4.1`).
_ID = re.compile(r"[0-9]+([-.][0-9]+)?")
# What a header, in lower case, has over a column that numbers the sentences.
_HEADINGS_OF_SENTENCES = ("sentence", "sentence #", "sentence_id", "sentence_idx", "sent_id", "sentence_number")
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
        The tags as the file has them, one a word; `None` where no column holds tags.
    features : `dict[str, list[str]]`
        The further columns by name, each one string a word.
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
    The layout of files with one token a row in columns, and an empty line between sentences. UTF-8, plain or
    packed (`.gz`, `.bz2`, `.xz`).

    - Twitter POS, WNUT-17, Cora: two columns, the token and its tag; the defaults read them.
    - CoNLL-2003: four, `columns = ["word", "pos", "chunk", "ner"]`. Rows that begin with `-DOCSTART-` are skipped.
    - CoNLL-U as treebanks are published, a name that ends in `.conllu`: `token_column = 1`, `tag_column = 3`.

    Every row must have as many columns as the first one: where one is missing, the others would be taken for it.

    # Parameters

    token_column : `Union[int, str]`, optional (default = `0`)
    tag_column : `Optional[Union[int, str]]`, optional (default = `-1`)
        The last column by default; `None` for a file without tags, or to leave them out.
    feature_columns : `Optional[dict[str, Union[int, str]]]`, optional (default = `None`)
        Further columns to read: the name of each, and its place.
    columns : `Optional[list[str]]`, optional (default = `None`)
        The names of all columns in their order, where columns are given by name.
    separator : `Optional[str]`, optional (default = `None`)
        `"tab"`: one tab, so that a token may hold blanks. `"blanks"`: any number of blanks and tabs. `"comma"`: CSV, as
        spreadsheets write it, where an empty row ends a sentence. `None`: CSV in a file whose name ends in `.csv`; else
        a tab where the file's first row has one, else blanks.
    comment : `Optional[str]`, optional (default = `None`)
        Lines that begin with this are skipped. `None`: `#` in a file whose first column holds ids; in others no line
        is, because a token may begin with any character, as those of tweets do with `#`.
    id_column : `Optional[Union[int, str]]`, optional (default = `None`)
        The column of CoNLL-U's ids. Rows of multi-word tokens (`2-3`) and of empty nodes (`4.1`) are no words and
        are skipped. `None`: the one that `columns` calls `id`; without `columns`, the first of a file whose name
        ends in `.conllu`, or this and `.gz`, `.bz2` or `.xz`.
    sentence_column : `Optional[Union[int, str]]`, optional (default = `None`)
        The column that says which sentence a row is of, for a table without empty rows: another value there begins a
        sentence, an empty cell goes on with that of the row before.

    # Raises

    `ConfigurationError` where a named column is not in `columns`, or the separator is unknown.
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
        Stream the sentences of a file. A row with too few or too many columns, an empty token, a tag that a vocabulary
        cannot hold and an id that is not valid are errors. A tag may be empty.
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
        sentence, checked, of = self._start(path), False, ""
        # The rows of the first sentence, to tell a table that is all one.
        rows: list[list[str]] = []
        looks = ids is None and self._sentence is None
        for number, row, between in self._rows(path, comment):
            if not row:
                if sentence.words:
                    yield sentence
                    sentence, looks = self._start(path), False
                continue
            if width is not None and len(row) != width:
                expected = f"{width} columns are named" if self._names else f"the file's first row has {width}"
                raise ConfigurationError(
                    f"{path}:{number}: found {counted(len(row), 'column')} where {expected} (separated by {between}; "
                    "a comment needs the reader's 'comment')."
                )
            if not checked:
                # The first row must have the columns that are asked for; the others as many as the first.
                self._check_columns(f"{path}:{number}", row, ids)
                width, checked = len(row), True
            if self._sentence is not None:
                before, of = of, self._sentence_of(f"{path}:{number}", row[self._sentence], of)
                if of != before and sentence.words:
                    yield sentence
                    sentence = self._start(path)
            elif looks:
                rows.append(row)
            if ids is None or _is_word(f"{path}:{number}", row[ids]):
                self._add(sentence, number, row)
        if looks:
            self._check_one_sentence(sentence, rows)
        if sentence.words:
            yield sentence

    def _sentence_of(self, where: str, cell: str, before: str) -> str:
        """What the column of sentences says of a row: where its cell is empty, that of the row before."""
        found = cell or before
        if not found:
            raise ConfigurationError(f"{where}: the sentence of the first row is empty.")
        return found

    def _check_one_sentence(self, sentence: TaggedSentence, rows: list[list[str]]) -> None:
        """It is an error if a table without empty rows, read as one sentence, has a column that numbers sentences."""
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
        """The number and the cells of each row, none between sentences, and what is between cells."""
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
                # A tab at an end may be that of an empty cell.
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
        header = (*_HEADINGS_OF_TOKENS, *_HEADINGS_OF_SENTENCES), _HEADINGS_OF_TAGS
        if self._tag is not None and all(
            row[place].lower() in names for place, names in zip((self._token, self._tag), header)
        ):
            raise ConfigurationError(
                f"{where}: this line is a header, which would be read as a word like any other; remove it."
            )
        # Otherwise the only column of a file would be both token and tag, and CoNLL-U's ids would be words.
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
    Whether the cells of a column number words or sentences: numbers, perhaps with one name before all (`Sentence: 1`),
    that are 1, 2, 3 and so on, or come again and never fall. In the place of a number that goes on may be nothing.
    """
    found = [_NUMBERED.fullmatch(cell) for cell in cells if cell]
    if len(cells) < 2 or not cells[0] or None in found or len({match["what"] for match in found if match}) > 1:
        return False
    numbers = [int(match["number"]) for match in found if match]
    again = numbers == sorted(numbers) and len(set(numbers)) < len(cells)
    return again or numbers == list(range(1, len(cells) + 1))
