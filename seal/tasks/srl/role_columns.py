"""Reads semantic roles in columns with brackets around spans, as CoNLL-2012 and CoNLL-2005 have them."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Optional

from seal.common.setting_checks import counted
from seal.files.names import clean_name
from seal.files.text_lines import cells_of
from seal.registry import ConfigurationError
from seal.tasks.srl.frames import SrlFrame, SrlSentence

_WORD, _LEMMA, _FRAMESET, _FIRST_ROLE = 3, 6, 7, 11
# One cell of a role column: it may open one span and may close one.
_ROLE = re.compile(r"(?:\(([^()*]+))?\*(\))?")
_NONE = "-"


def read_role_columns(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[SrlSentence]:
    """
    Streams the sentences of a file of columns, which ASCII white space separates. Sentences end at an empty line or at
    a line that begins with `#begin` or `#end`. The first row tells which columns they are:

    - CoNLL-2012, if there are at least 12: the word is column 3 (from 0), lemma 6, frameset 7, one column of roles a
      predicate from column 11 on, and coreference last.
    - CoNLL-2005 otherwise: the word first (or behind its number), then any columns, such as the part of speech and the
      parse, the lemma of a predicate or `-`, and last one column of roles for each predicate.

    The n-th row with a frameset, or with a lemma in CoNLL-2005, owns the n-th column of roles. Where the two counts
    differ in CoNLL-2012, or the column's `(V` opens on another row, the row of its first `(V` is the predicate.

    # Parameters

    path : `str`
        For messages.
    lines : `Iterable[tuple[int, str]]`
        The lines of the file with their numbers.
    """
    sentence_of: Optional[Callable[[str, int, list[list[str]]], SrlSentence]] = None
    for start, rows in _sentences(path, lines):
        if sentence_of is None:
            sentence_of = _of_conll2012 if len(rows[0]) > _FIRST_ROLE else _of_conll2005
        yield sentence_of(path, start, rows)


def _sentences(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, list[list[str]]]]:
    """Yields the first line of each sentence and its rows, which have as many columns as the first of them."""
    rows: list[list[str]] = []
    start = 0
    for number, line in lines:
        row = cells_of(line)
        if not row or line.startswith(("#begin", "#end")):
            if rows:
                yield start, rows
                rows = []
            continue
        if not rows:
            start = number
        elif len(row) != len(rows[0]):
            raise ConfigurationError(
                f"{path}:{number}: found {len(row)} columns where the first row of the sentence has {len(rows[0])}."
            )
        rows.append(row)
    if rows:
        yield start, rows


def _of_conll2005(path: str, start: int, rows: list[list[str]]) -> SrlSentence:
    width = len(rows[0])
    for lemmas in range(1, width):
        predicates = [index for index, row in enumerate(rows) if row[lemmas] != _NONE]
        columns = range(lemmas + 1, width)
        if len(predicates) == len(columns) and all(_ROLE.fullmatch(row[place]) for row in rows for place in columns):
            break
    else:
        raise ConfigurationError(
            f"{path}:{start}: found {counted(width, 'column')}, which are neither those of CoNLL-2012, at least "
            f"{_FIRST_ROLE + 1}, nor of CoNLL-2005: a word, a predicate's lemma or -, and a column of roles for each "
            "predicate (a file of JSON lines must end in .jsonl)."
        )
    is_numbered = len(rows) > 1 and lemmas > 1 and [row[0] for row in rows] == [str(i + 1) for i in range(len(rows))]
    sentence = SrlSentence([row[1 if is_numbered else 0] for row in rows], source=f"{path}:{start}")
    for predicate, column in zip(predicates, columns):
        tags = _tags(path, start, column, [row[column] for row in rows])
        predicate = _first_v(tags, predicate)
        sentence.frames.append(SrlFrame(predicate, tags, _cell(rows[predicate][lemmas])))
    return sentence


def _of_conll2012(path: str, start: int, rows: list[list[str]]) -> SrlSentence:
    if len(rows[0]) <= _FIRST_ROLE:
        raise ConfigurationError(
            f"{path}:{start}: found {len(rows[0])} columns where CoNLL-2012 has at least {_FIRST_ROLE + 1}."
        )
    marked = [index for index, row in enumerate(rows) if row[_FRAMESET] != _NONE]
    columns = range(_FIRST_ROLE, len(rows[0]) - 1)
    sentence = SrlSentence([row[_WORD] for row in rows], source=f"{path}:{start}")
    for order, column in enumerate(columns):
        tags = _tags(path, start, column, [row[column] for row in rows])
        predicate = _first_v(tags, marked[order] if len(marked) == len(columns) else -1)
        if predicate < 0:
            raise ConfigurationError(
                f"{path}:{start}: column {column} has no predicate: it opens no '(V', and the sentence has "
                f"{len(marked)} rows with a frameset for {len(columns)} role columns."
            )
        lemma, sense = map(_cell, rows[predicate][_LEMMA : _FRAMESET + 1])
        sentence.frames.append(SrlFrame(predicate, tags, lemma, sense))
    return sentence


def _first_v(tags: list[str], marked: int) -> int:
    """The row of a predicate: the marked one, if `V` begins there or nowhere; otherwise the first where it does."""
    verbs = [index for index, tag in enumerate(tags) if tag == "B-V"]
    return marked if not verbs or marked in verbs else verbs[0]


def _cell(cell: str) -> Optional[str]:
    return None if cell == _NONE else cell


def _tags(path: str, start: int, column: int, cells: list[str]) -> list[str]:
    tags = []
    role: Optional[str] = None
    opened = start
    for number, cell in enumerate(cells, start=start):
        if cell == "*":
            tags.append("O" if role is None else f"I-{role}")
            continue
        match = _ROLE.fullmatch(cell)
        if match is None:
            raise ConfigurationError(
                f"{path}:{number}: {cell!r} in column {column} is not a role; expected '*', '(ROLE*', '*)' "
                "or '(ROLE*)'."
            )
        opens, closes = match.groups()
        if opens:
            if role is not None:
                raise ConfigurationError(
                    f"{path}:{number}: {cell!r} in column {column} opens inside the {role} span of line "
                    f"{opened}; nested spans are not supported."
                )
            role, opened = clean_name(opens, f"{path}:{number}: the role"), number
            tags.append(f"B-{role}")
        else:
            if role is None:
                raise ConfigurationError(
                    f"{path}:{number}: {cell!r} in column {column} closes a span that was not opened."
                )
            tags.append(f"I-{role}")
        if closes:
            role = None
    if role is not None:
        raise ConfigurationError(f"{path}:{opened}: the {role} span of column {column} is never closed.")
    return tags
