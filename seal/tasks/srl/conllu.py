"""
Reads semantic roles in CoNLL-U, the format of Universal PropBank (https://universalpropositions.github.io), and in the
columns of CoNLL-2009.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Optional

from seal.common.setting_checks import abbreviate, counted
from seal.common.tag_encodings import spans_to_bio
from seal.files.names import clean_name
from seal.files.text_lines import column_lines
from seal.registry import ConfigurationError
from seal.tasks.srl.frames import SrlFrame, SrlSentence

logger = logging.getLogger(__name__)

#: How much of a sentence a role covers that CoNLL-U has on its head word.
ROLE_SPANS = ("head", "subtree")

# Not str.split: a no-break space is part of a word, not a separator.
_CELLS = re.compile(r"[^ \t\r\n\f\v]+")
_UD = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
# Universal PropBank 1.0 has the mark of predicates and their frame in the place of DEPS and MISC.
_MARK, _FRAME = 8, 9
_NAMES = re.compile(r"#\s*global\.columns\s*=\s*(.*\S)")
_ID = re.compile(r"[1-9][0-9]*")
# A row of a multi-word token, or of an empty node.
_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
# Universal PropBank 2.0 has all arguments of a predicate in its row, with the ids of their heads: `A0:1|A1:3`.
_ARGUMENTS = re.compile(r"[^\s:|]+:[0-9]+(\|[^\s:|]+:[0-9]+)*")

_Rows = list[tuple[int, list[str]]]


class _Layout(NamedTuple):
    """
    The places of the columns that are read. With `mark`, predicates are the rows that have `Y` there. `arguments` is
    the column of version 2.0; without it there is one column of roles for each predicate, from `frame + 1` on.
    """

    word: int
    lemma: Optional[int]
    head: Optional[int]
    frame: int
    arguments: Optional[int] = None
    mark: Optional[int] = None


_MARKED = _Layout(1, 2, 6, _FRAME, mark=_MARK)
# CoNLL-2009 has predicted columns beside those by hand, a mark FILLPRED and the frame in front of the roles.
_CONLL_2009 = _Layout(1, 2, 8, 13, mark=12)
_AFTER_MISC = _Layout(1, 2, 6, len(_UD))
_ONE_COLUMN = _Layout(1, 2, 6, len(_UD), arguments=len(_UD) + 1)


def read_conllu(path: str, role_spans: str = "head") -> Iterator[SrlSentence]:
    """
    Streams the sentences of a file of CoNLL-U with roles. The reader recognises its columns by their content:

    - Universal PropBank 1.0: ID to DEPREL, then a mark (`Y` in the row of a predicate, else `_`), the predicate's
      frame (`querer.01`), and one column of roles for each predicate.
    - The same behind all ten columns of CoNLL-U: the frame in column 10, counted from 0, then the columns of roles.
    - Universal PropBank 2.0, merged with its treebank: the frame in column 10 and, in the row of the predicate, all of
      its roles with the ids of their heads in column 11, such as `A0:1|A1:3`. Column 12, the roles' spans, is not read.
    - CoNLL-2009, also under another name: a mark in column 12, the frame in column 13, then the columns of roles.

    A line `# global.columns = ...` names the columns; 2.0's are `UP:PRED` and `UP:ARGHEADS`. A role stands at its head
    word. Rows of multi-word tokens and empty nodes are skipped. Where a word has two roles of one frame, the first is
    kept, and a warning gives the number of those that are left out. A file without roles has sentences without frames.

    # Parameters

    path : `str`
    role_spans : `str`, optional (default = `"head"`)
        `"head"`: a role's span is its head word. `"subtree"`: the words around the head, without a gap, that are below
        it in the tree of dependencies. A word below two heads of the frame, such as the predicate's inside a relative
        clause, belongs to the nearest one, so that spans do not overlap.
    """
    lines = column_lines(path, "columns of CoNLL-U")
    names: Optional[list[str]] = None
    marked = False
    rows: _Rows = []
    left_out, first = 0, ""
    for number, line in chain(lines, [(0, "")]):
        if line.startswith("#"):
            found = _NAMES.match(line)
            names = found[1].upper().split() if found else names
            continue
        row = [cell.strip(" \r\n") for cell in line.split("\t")] if "\t" in line else _CELLS.findall(line)
        if any(row) and _NO_WORD.fullmatch(row[0]):
            continue
        if any(row):
            _check_row(f"{path}:{number}", row, rows, names)
            rows.append((number, row))
        elif rows:
            # A file with marks has them in each sentence with frames.
            marked = names is None and (marked or _is_marked(rows))
            layout = _MARKED if marked else _layout_of(path, rows, names)
            sentence, crowded = _sentence(path, rows, layout, role_spans)
            yield sentence
            rows = []
            left_out, first = left_out + len(crowded), first or "".join(crowded[:1])
    if left_out:
        logger.warning(
            "%s: %d roles are left out, as their words have another role of the frame; the first: %s",
            path,
            left_out,
            first,
        )


def is_conllu(line: str) -> bool:
    """
    Whether a file of columns whose first line is this one is CoNLL-U or CoNLL-2009, by a comment or by an id and a
    head.
    """
    if line.startswith("#"):
        return not line.startswith(("#begin", "#end"))
    cells = line.split("\t")
    has_id = len(cells) >= len(_UD) and re.match(r"1(-[0-9]+)?$", cells[0]) is not None
    return has_id and (cells[6].isdecimal() or _is_conll2009(cells))


def _is_conll2009(row: list[str]) -> bool:
    """Whether a row has the heads of CoNLL-2009, where CoNLL-U has DEPS."""
    return len(row) > _CONLL_2009.frame and row[8].isdecimal()


def _check_row(where: str, row: list[str], before: _Rows, names: Optional[Sequence[str]]) -> None:
    width = len(before[0][1]) if before else max(len(row), len(names or _UD))
    if len(row) != width:
        of = (
            "the sentence's first word has" if before else "'global.columns' names" if names else "CoNLL-U has at least"
        )
        raise ConfigurationError(f"{where}: found {len(row)} columns where {of} {width}.")
    place = 0 if names is None or "ID" not in names else names.index("ID")
    if row[place] != str(len(before) + 1):
        raise ConfigurationError(
            f"{where}: found the id {abbreviate(row[place])} where {len(before) + 1} is the next word."
        )


def _layout_of_names(path: str, names: Sequence[str]) -> _Layout:
    if "ID" not in names or "FORM" not in names:
        raise ConfigurationError(
            f"{path}: its 'global.columns' lacks FORM or ID, so there are no words: merge it with the treebank, as "
            "up2/merge_ud_up.py of Universal PropBank's tools does."
        )
    places = {name.rpartition(":")[2]: place for place, name in enumerate(names)}
    frame = places.get("PRED", places.get("PREDS", len(names)))
    return _Layout(places["FORM"], places.get("LEMMA"), places.get("HEAD"), frame, places.get("ARGHEADS"))


def _is_marked(rows: _Rows) -> bool:
    """Whether a sentence has the marks of version 1.0. DEPS, which CoNLL-U has in their place, is never `Y`."""
    marks = {row[_MARK] for _, row in rows}
    return "Y" in marks and marks <= {"Y", "_"}


def _layout_of(path: str, rows: _Rows, names: Optional[Sequence[str]]) -> _Layout:
    if names is not None:
        return _layout_of_names(path, names)
    return _CONLL_2009 if all(_is_conll2009(row) for _, row in rows) else _layout_of_cells(path, rows)


def _layout_of_cells(path: str, rows: _Rows) -> _Layout:
    """The layout of a sentence without marks."""
    behind = list(zip(*(row[len(_UD) :] for _, row in rows)))
    if not any(cell != "_" for column in behind for cell in column):
        return _AFTER_MISC
    frames, *others = behind
    arguments = [cell for cell in others[0] if cell != "_"] if len(others) == 2 else []
    if arguments and all(map(_ARGUMENTS.fullmatch, arguments)):
        return _ONE_COLUMN
    if any("." in cell for cell in frames):
        return _AFTER_MISC
    raise ConfigurationError(
        f"{path}:{rows[0][0]}: found {counted(len(rows[0][1]), 'column')} in no known layout of roles: column {_MARK} "
        f"(counted from 0) has no mark Y, and column {len(_UD)} no frame such as give.01; name the columns in a line "
        "'# global.columns = ...'."
    )


def _sentence(path: str, rows: _Rows, layout: _Layout, role_spans: str) -> tuple[SrlSentence, list[str]]:
    """The sentence of some rows, and the roles that are left out."""
    words = [row[layout.word] for _, row in rows]
    for (number, _), word in zip(rows, words):
        if not word:
            raise ConfigurationError(f"{path}:{number}: the word is empty.")
    sentence = SrlSentence(words, source=f"{path}:{rows[0][0]}")
    left_out: list[str] = []
    for predicate, roles in _roles(path, rows, layout):
        heads: dict[int, str] = {predicate: "V"}
        for index, role in roles:
            if index in heads and (index, role) != (predicate, "V"):
                left_out.append(f"{path}:{rows[index][0]}, {role}")
            heads.setdefault(index, role)
        above = None if role_spans == "head" else _nearest(path, rows, layout, heads)
        cells = rows[predicate][1]
        lemma = None if layout.lemma is None or cells[layout.lemma] == "_" else cells[layout.lemma]
        frame = cells[layout.frame]
        sense = None if frame == "_" else frame.rpartition(".")[2]
        sentence.frames.append(SrlFrame(predicate, _tags_of_heads(heads, above, predicate, len(rows)), lemma, sense))
    return sentence, left_out


def _roles(path: str, rows: _Rows, layout: _Layout) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """The index of each predicate, and its roles with the indices of their heads."""
    width = len(rows[0][1])
    if layout.mark is not None:
        predicates = [index for index, (_, row) in enumerate(rows) if row[layout.mark] == "Y"]
        found = f"marks Y in column {layout.mark}"
    else:
        predicates = [index for index, (_, row) in enumerate(rows) if layout.frame < width and row[layout.frame] != "_"]
        found = f"frames in column {layout.frame}"
    if layout.arguments is not None:
        yield from _listed_roles(path, rows, predicates, layout.arguments)
        return
    columns = [
        [
            (index, clean_name(row[column], f"{path}:{number}: the role"))
            for index, (number, row) in enumerate(rows)
            if row[column] != "_"
        ]
        for column in range(layout.frame + 1, width)
    ]
    if len(columns) < len(predicates) or any(columns[len(predicates) :]):
        raise ConfigurationError(
            f"{path}:{rows[0][0]}: the sentence has {len(predicates)} {found} (counted from 0) and {len(columns)} "
            "columns of roles behind the frame; each predicate needs one."
        )
    for index, roles in zip(predicates, columns):
        verbs = [place for place, role in roles if role == "V"]
        yield index if not verbs or index in verbs else verbs[0], roles


def _listed_roles(
    path: str, rows: _Rows, predicates: Sequence[int], column: int
) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    for index in predicates:
        number, row = rows[index]
        cell = row[column]
        if cell != "_" and not _ARGUMENTS.fullmatch(cell):
            raise ConfigurationError(
                f"{path}:{number}: the roles {abbreviate(cell)} are not of the form A0:1|A1:3, each with the id of its "
                "head word."
            )
        pairs = [part.rpartition(":") for part in cell.split("|")] if cell != "_" else []
        for _, _, head in pairs:
            if not 1 <= int(head) <= len(rows):
                raise ConfigurationError(f"{path}:{number}: there is no word {head} in a sentence of {len(rows)}.")
        yield index, [(int(head) - 1, clean_name(role, f"{path}:{number}: the role")) for role, _, head in pairs]


def _nearest(path: str, rows: _Rows, layout: _Layout, heads: Iterable[int]) -> list[Optional[int]]:
    """For each word, the nearest of `heads` that it is or is below; `None` where there is none."""
    if layout.head is None:
        raise ConfigurationError(f"{path}: it has no column HEAD; set role_spans to 'head'.")
    above: list[int] = []
    for number, row in rows:
        head = row[layout.head]
        if head != "0" and not (_ID.fullmatch(head) and int(head) <= len(rows)):
            raise ConfigurationError(
                f"{path}:{number}: the head {abbreviate(head)} is not the id of a word, or 0, and subtrees need it; "
                "correct it, or set role_spans to 'head'."
            )
        above.append(int(head) - 1)
    marked = set(heads)
    found: list[Optional[int]] = []
    for start in range(len(rows)):
        way = [start]
        while above[way[-1]] >= 0:
            way.append(above[way[-1]])
            if len(way) > len(rows):
                raise ConfigurationError(f"{path}:{rows[start][0]}: from here the heads of words go round in a circle.")
        found.append(next((word for word in way if word in marked), None))
    return found


def _tags_of_heads(
    heads: dict[int, str], above: Optional[Sequence[Optional[int]]], predicate: int, length: int
) -> list[str]:
    spans = []
    for head, role in heads.items():
        start = end = head
        if above is not None and head != predicate:
            while start > 0 and above[start - 1] == head:
                start -= 1
            while end + 1 < length and above[end + 1] == head:
                end += 1
        spans.append((role, start, end))
    return spans_to_bio(spans, length)
