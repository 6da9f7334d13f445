"""Semantic roles as Universal PropBank (https://universalpropositions.github.io) publishes them, in CoNLL-U."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple, Optional

from seal.common.setting_checks import short
from seal.common.tag_encodings import spans_to_bio
from seal.dataset_readers.srl_files import SrlFrame, SrlSentence
from seal.files.names import clean_name
from seal.files.text_lines import column_lines
from seal.registry import ConfigurationError

logger = logging.getLogger(__name__)

#: How much of a sentence a role covers that CoNLL-U has on its head word.
ROLE_SPANS = ("head", "subtree")

# Not str.split: a no-break space is part of a word, not a separator.
_CELLS = re.compile(r"[^ \t\r\n\f\v]+")
# CoNLL-U's columns; after them come the predicate's frame and a column of roles a predicate (Universal PropBank 1.0).
_UD = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_NAMES = re.compile(r"#\s*global\.columns\s*=\s*(.*\S)")
_ID = re.compile(r"[1-9][0-9]*")
# A row that is no word: of a multi-word token, or an empty node.
_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+")
# Universal PropBank 2.0 has all arguments of a predicate in its row, with the ids of their heads: `A0:1|A1:3`.
_ARGUMENTS = re.compile(r"[^\s:|]+:[0-9]+(\|[^\s:|]+:[0-9]+)*")


class _Layout(NamedTuple):
    """The places of the columns that are read; `arguments` is that of Universal PropBank 2.0, else roles follow."""

    word: int
    lemma: Optional[int]
    head: Optional[int]
    frame: int
    arguments: Optional[int]


def read_propbank(path: str, role_spans: str = "head") -> Iterator[SrlSentence]:
    """
    Streams the sentences of CoNLL-U with the roles of Universal PropBank. Version 1.0 has the predicate's frame in
    column 10 (from 0) and then one column of roles a predicate, each role on its head word. Version 2.0, merged with
    its treebank, has `UP:PRED` and, in the row of the predicate, `UP:ARGHEADS`, such as `A0:1|A1:3`; `UP:ARGSPANS` is
    not read. A line `# global.columns = ...` says where columns are. Rows of multi-word tokens and empty nodes are no
    words. Where a word has two roles of one frame, the first is kept, and a warning tells how many are left out.

    `role_spans`: `"head"`: a role is that of its head word alone. `"subtree"`: of the words around the head, without a
    gap, that are below it in the tree of dependencies. Of these, a word below two heads of the frame, such as the
    predicate's inside a relative clause, belongs to the nearest one, so that spans do not overlap.
    """
    lines = column_lines(path, "columns of CoNLL-U")
    names: Optional[list[str]] = None
    rows: list[tuple[int, list[str]]] = []
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
            sentence, crowded = _of_conllu(path, rows, names, role_spans)
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


def _check_row(
    where: str, row: list[str], before: Sequence[tuple[int, list[str]]], names: Optional[Sequence[str]]
) -> None:
    if names is None and len(row) < len(_UD):
        raise ConfigurationError(f"{where}: found {len(row)} columns where CoNLL-U has at least {len(_UD)}.")
    if names is not None and len(row) < len(names):
        raise ConfigurationError(f"{where}: found {len(row)} columns where 'global.columns' names {len(names)}.")
    if before and len(row) != len(before[0][1]):
        raise ConfigurationError(
            f"{where}: found {len(row)} columns where the first word of the sentence has {len(before[0][1])}."
        )
    place = 0 if names is None or "ID" not in names else names.index("ID")
    if row[place] != str(len(before) + 1):
        raise ConfigurationError(f"{where}: found the id {short(row[place])} where {len(before) + 1} is the next word.")


def _layout(path: str, rows: Sequence[tuple[int, list[str]]], names: Optional[Sequence[str]]) -> _Layout:
    if names is None:
        # Merged by hand, files of version 2.0 have no names of columns.
        cells = [row[len(_UD) + 1] for _, row in rows if len(row) == len(_UD) + 3]
        listed = any(map(_ARGUMENTS.fullmatch, cells)) and all(c == "_" or _ARGUMENTS.fullmatch(c) for c in cells)
        return _Layout(1, 2, 6, len(_UD), len(_UD) + 1 if listed else None)
    if "ID" not in names or "FORM" not in names:
        raise ConfigurationError(
            f"{path}: its 'global.columns' lacks FORM or ID, so there are no words: merge it with the treebank, as "
            "up2/merge_ud_up.py of Universal PropBank's tools does."
        )
    places = {name.rpartition(":")[2]: place for place, name in enumerate(names)}
    frame = places.get("PRED", places.get("PREDS", len(names)))
    return _Layout(places["FORM"], places.get("LEMMA"), places.get("HEAD"), frame, places.get("ARGHEADS"))


def _of_conllu(
    path: str, rows: Sequence[tuple[int, list[str]]], names: Optional[Sequence[str]], role_spans: str
) -> tuple[SrlSentence, list[str]]:
    """A sentence, and the roles that are left out."""
    layout = _layout(path, rows, names)
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
        sense = cells[layout.frame].rpartition(".")[2]
        sentence.frames.append(SrlFrame(predicate, _tags_of_heads(heads, above, predicate, len(rows)), lemma, sense))
    return sentence, left_out


def _roles(
    path: str, rows: Sequence[tuple[int, list[str]]], layout: _Layout
) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """The index of each predicate, and its roles with the indices of their heads."""
    width = len(rows[0][1])
    marked = [index for index, (_, row) in enumerate(rows) if layout.frame < width and row[layout.frame] != "_"]
    if layout.arguments is not None:
        for index in marked:
            number, row = rows[index]
            cell = row[layout.arguments]
            if cell != "_" and not _ARGUMENTS.fullmatch(cell):
                raise ConfigurationError(
                    f"{path}:{number}: the roles {short(cell)} are not of the form A0:1|A1:3, each with the id of its "
                    "head word."
                )
            pairs = [part.rpartition(":") for part in cell.split("|")] if cell != "_" else []
            for _, _, head in pairs:
                if not 1 <= int(head) <= len(rows):
                    raise ConfigurationError(f"{path}:{number}: there is no word {head} in a sentence of {len(rows)}.")
            yield index, [(int(head) - 1, clean_name(role, f"{path}:{number}: the role")) for role, _, head in pairs]
        return
    columns = [
        [
            (index, clean_name(row[column], f"{path}:{number}: the role"))
            for index, (number, row) in enumerate(rows)
            if row[column] != "_"
        ]
        for column in range(layout.frame + 1, width)
    ]
    if len(columns) < len(marked) or any(columns[len(marked) :]):
        raise ConfigurationError(
            f"{path}:{rows[0][0]}: the sentence has {len(marked)} rows with a frame in column {layout.frame} (counted "
            f"from 0) and {len(columns)} columns of roles behind it, of which each is of one frame."
        )
    for index, roles in zip(marked, columns):
        verbs = [place for place, role in roles if role == "V"]
        yield index if not verbs or index in verbs else verbs[0], roles


def _nearest(
    path: str, rows: Sequence[tuple[int, list[str]]], layout: _Layout, heads: Iterable[int]
) -> list[Optional[int]]:
    """For each word, the nearest of `heads` that it is or is below; `None` where there is none."""
    if layout.head is None:
        raise ConfigurationError(f"{path}: it has no column HEAD; set --role-spans to 'head'.")
    above: list[int] = []
    for number, row in rows:
        head = row[layout.head]
        if head != "0" and not (_ID.fullmatch(head) and int(head) <= len(rows)):
            raise ConfigurationError(
                f"{path}:{number}: the head {short(head)} is not the id of a word, or 0, and subtrees need it; correct "
                "it, or set --role-spans to 'head'."
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
