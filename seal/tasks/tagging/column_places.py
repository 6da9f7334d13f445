"""Finds which columns of a file hold its words, tags and sentences."""

import logging
import re
from collections.abc import Sequence
from typing import NamedTuple, Optional, Union

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import counted, require
from seal.files.text_lines import without_packing

Column = Union[int, str]
"""A column: its index, from 0 or, if negative, from the end; or its name."""

# The defaults of `token_column` and `tag_column`.
_FIRST, _LAST = 0, -1
# The usual headings, in lower case, of the columns of tokens, of tags, and of the number of the sentence.
_TOKEN_HEADINGS = ("word", "words", "token", "tokens", "form")
_TAG_HEADINGS = ("tag", "tags", "pos", "upos", "ner", "label", "labels", "entity", "ner_tag", "ner_tags")
_SENTENCE_HEADINGS = ("sentence", "sentence #", "sentence_id", "sentence_idx", "sent_id", "sentence_number")
# A number, alone or after a name: `Sentence: 1`, `#1`, `s1`, but not `B2`, a word.
_NUMBERED = re.compile(r"(?P<what>(?:\D{0,19}[^\w]|s|sent\D{0,16})?)(?P<number>\d{1,15})", re.IGNORECASE)
# In CoNLL-U, the columns of the forms and of the universal tags; CoNLL-U Plus has columns of its own.
_CONLL_U, _CONLL_U_PLUS = ".conllu", ".conllup"
_FORM, _UPOS = 1, 3

logger = logging.getLogger(__name__)


class Places(NamedTuple):
    """The indices of a file's columns; `None` for one that it lacks."""

    token: int
    tag: Optional[int]
    id: Optional[int]
    sentence: Optional[int]
    features: dict[str, int]


class ColumnFinder:
    """
    Finds the columns of a file by the reader's settings and the file's first row.

    # Parameters

    settings : `dict[str, Optional[Union[int, str]]]`
        `token_column`, `tag_column`, `id_column` and `sentence_column`, as for `TagColumns`.
    features : `dict[str, Union[int, str]]`
        `feature_columns`.
    names : `Optional[list[str]]`
        `columns`; `None` where the file may have a header.

    # Raises

    `ConfigurationError` if a column is not among `names`.
    """

    def __init__(
        self, settings: dict[str, Optional[Column]], features: dict[str, Column], names: Optional[list[str]]
    ) -> None:
        self.settings, self._features, self._names = settings, features, names
        # The files whose header was reported.
        self._reported: set[str] = set()
        if names is not None:
            self._by_names(names, "'columns' names")

    def begins_with_ids(self, path: str) -> bool:
        """Whether a file's first column holds ids, so that its comments begin with `#`."""
        column = self.settings["id_column"]
        if column is None:
            return self._names is None and _is_conll_u(path)
        return column == 0 or (self._names is not None and column == self._names[0])

    def places(self, path: str, number: int, row: list[str]) -> tuple[Places, bool]:
        """
        The columns of a file, and whether its first row is a header.

        # Parameters

        path : `str`
        number : `int`
            The line of the first row.
        row : `list[str]`
            Its cells.

        # Raises

        `ConfigurationError` if a column is missing, or words would be read from the column of tags or of ids.
        """
        where = f"{path}:{number}"
        named = [column for column in (*self.settings.values(), *self._features.values()) if isinstance(column, str)]
        self._check_range(where, row)
        if named and self._names is None:
            places, has_header = self._by_names(row, "the first row names", f"{where}: "), True
        else:
            places, has_header = self._by_names(self._names or [""] * len(row), "'columns' names"), False
            if self._names is None and places.id is None and _is_conll_u(path):
                places = _of_conll_u(path, row, places)
            has_header = places.id is None and _has_headings(row, places)
        if has_header:
            places = _by_headings(row, places)
            self._report(path, row, places)
        _check_places(where, row, places)
        return places, has_header

    def _check_range(self, where: str, row: list[str]) -> None:
        columns = {key.removesuffix("_column"): column for key, column in self.settings.items()}
        for name, column in {**columns, **self._features}.items():
            if isinstance(column, int) and not -len(row) <= column < len(row):
                raise ConfigurationError(
                    f"{where}: found {counted(len(row), 'column')} where the {name} is in column {column} (counted "
                    "from 0)."
                )

    def _by_names(self, names: list[str], naming: str, where: str = "") -> Places:
        """The indices of the columns, in a file whose columns have these names."""

        def place(key: str, column: Column) -> int:
            if isinstance(column, int):
                if -len(names) <= column < len(names):
                    return column
                raise ConfigurationError(f"dataset_reader.{key}: {column} is not a place among {len(names)} columns.")
            if column not in names:
                raise ConfigurationError(
                    f"{where}dataset_reader.{key}: there is no column {column!r}; {naming} {names}."
                )
            return names.index(column)

        found = {key: None if column is None else place(key, column) for key, column in self.settings.items()}
        features = {name: place(f"feature_columns.{name}", column) for name, column in self._features.items()}
        token = require(found["token_column"], "token_column")
        return Places(token, found["tag_column"], found["id_column"], found["sentence_column"], features)

    def _report(self, path: str, row: list[str], places: Places) -> None:
        if path in self._reported:
            return
        self._reported.add(path)
        parts = [("words", places.token), ("tags", places.tag), ("sentences", places.sentence)]
        found = ", ".join(f"{what} in {row[place]!r}" for what, place in parts if place is not None)
        logger.info("%s: its first row names the columns: %s", path, found, extra={"news": True})


def _is_conll_u(path: str) -> bool:
    return without_packing(path).endswith((_CONLL_U, _CONLL_U_PLUS))


def _of_conll_u(path: str, row: list[str], places: Places) -> Places:
    """The columns of a CoNLL-U file, where those that are not named are the form and the universal tag."""
    token, tag = places.token, places.tag
    if without_packing(path).endswith(_CONLL_U) and len(row) > _UPOS:
        token, tag = _FORM if token == _FIRST else token, _UPOS if tag == _LAST else tag
    return places._replace(id=0, token=token, tag=tag)


def _has_headings(row: list[str], places: Places) -> bool:
    """Whether the first row has a heading of tags in their column and one of words."""
    if places.tag is None or len(set(row)) < len(row) or row[places.tag].lower() not in _TAG_HEADINGS:
        return False
    columns = row if places.token == _FIRST else [row[places.token]]
    return any(cell.lower() in _TOKEN_HEADINGS for cell in columns)


def _by_headings(row: list[str], places: Places) -> Places:
    """The columns by a header, where no setting names them."""
    headings = [cell.lower() for cell in row]

    def first(known: tuple[str, ...], otherwise: Optional[int]) -> Optional[int]:
        return next((place for place, heading in enumerate(headings) if heading in known), otherwise)

    token = first(_TOKEN_HEADINGS, _FIRST) if places.token == _FIRST else places.token
    sentence = first(_SENTENCE_HEADINGS, None) if places.sentence is None else places.sentence
    return places._replace(token=require(token, "token"), sentence=sentence)


def _check_places(where: str, row: list[str], places: Places) -> None:
    # The only column of a file cannot be both token and tag, nor can CoNLL-U's ids be words.
    for name, place, advice in (
        ("id", places.id, "set token_column and tag_column (1 and 3 in CoNLL-U)"),
        ("tag", places.tag, "set token_column and tag_column, or tag_column to null for a file without tags"),
    ):
        if place is not None and place % len(row) == places.token % len(row):
            if len(row) == 1 and "," in row[0]:
                advice = "set separator to 'comma', or put a tab or a blank between the columns"
            raise ConfigurationError(
                f"{where}: found {counted(len(row), 'column')} where column {places.token % len(row)} would be both "
                f"token and {name}; {advice}."
            )


def are_numbers_of_rows(cells: Sequence[str]) -> bool:
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
