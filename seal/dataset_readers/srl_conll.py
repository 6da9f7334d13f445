"""
CoNLL-2012 columns to records.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Optional

from allennlp.common.checks import ConfigurationError

from seal.dataset_readers.srl_records import SrlFrame, SrlSentence
from seal.files.names import clean_name

_WORD, _LEMMA, _FRAMESET, _FIRST_ROLE = 3, 6, 7, 11
# Not str.split: a no-break space is part of a word, not a separator.
_COLUMNS = re.compile(r"[^ \t\r\n\f\v]+")
# One cell of a role column: it may open one span and may close one.
_CELL = re.compile(r"(?:\(([^()*]+))?\*(\))?")


def parse_conll2012(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[SrlSentence]:
    """
    Stream sentences from the numbered lines of CoNLL-2012 columns; the layout is described at `read_srl_sentences`.
    Sentences end at an empty line or at a line that begins with `#begin` or `#end`.
    """
    rows: list[list[str]] = []
    start = 0
    for number, line in lines:
        row = _COLUMNS.findall(line)
        if not row or line.startswith(("#begin", "#end")):
            if rows:
                yield _sentence(path, start, rows)
                rows = []
            continue
        if not rows:
            start = number
        if len(row) <= _FIRST_ROLE:
            raise ConfigurationError(
                f"{path}:{number}: found {len(row)} columns where CoNLL-2012 has at least {_FIRST_ROLE + 1} "
                "(a file of JSON lines must end in .jsonl)."
            )
        if rows and len(row) != len(rows[0]):
            raise ConfigurationError(
                f"{path}:{number}: found {len(row)} columns where the first row of the sentence has {len(rows[0])}."
            )
        rows.append(row)
    if rows:
        yield _sentence(path, start, rows)


def _sentence(path: str, start: int, rows: list[list[str]]) -> SrlSentence:
    marked = [index for index, row in enumerate(rows) if row[_FRAMESET] != "-"]
    columns = range(_FIRST_ROLE, len(rows[0]) - 1)
    sentence = SrlSentence([row[_WORD] for row in rows], source=f"{path}:{start}")
    for order, column in enumerate(columns):
        tags = _tags(path, start, column, [row[column] for row in rows])
        verbs = [index for index, tag in enumerate(tags) if tag == "B-V"]
        predicate = marked[order] if len(marked) == len(columns) else None
        if verbs and predicate not in verbs:
            predicate = verbs[0]
        if predicate is None:
            raise ConfigurationError(
                f"{path}:{start}: column {column} has no predicate: it opens no '(V', and the sentence has "
                f"{len(marked)} rows with a frameset for {len(columns)} role columns."
            )
        lemma, sense = (None if cell == "-" else cell for cell in rows[predicate][_LEMMA : _FRAMESET + 1])
        sentence.frames.append(SrlFrame(predicate, tags, lemma, sense))
    return sentence


def _tags(path: str, start: int, column: int, cells: list[str]) -> list[str]:
    tags = []
    role: Optional[str] = None
    opened = start
    for number, cell in enumerate(cells, start=start):
        if cell == "*":
            tags.append("O" if role is None else f"I-{role}")
            continue
        match = _CELL.fullmatch(cell)
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
