"""Writes trees of one sentence so that their differences are visible."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class _Constituent(NamedTuple):
    label: str
    start: int
    end: int


def differing_brackets(gold: str, *others: str) -> list[str]:
    """
    Writes the words of a sentence with only those brackets that differ: for gold the constituents that another tree
    lacks, and for each other tree the constituents that gold lacks, as in `[NP a vase [PP with a crack]]`.

    # Parameters

    gold, *others : `str`
        Trees in the treebank's brackets, `(S (NP They) (VP left) .)`, over the same words.
    """
    words, wanted = _read(gold)
    found = [Counter(_read(tree)[1]) for tree in others]
    lacking: Counter = Counter()
    for one in found:
        lacking |= Counter(wanted) - one
    return [_text(words, kept) for kept in (lacking, *(one - Counter(wanted) for one in found))]


def _read(tree: str) -> tuple[list[str], list[_Constituent]]:
    """The words and the constituents. A constituent comes before those inside it."""
    words: list[str] = []
    found: list[_Constituent] = []
    open_: list[int] = []
    for bracket, label, word in re.findall(r"(\()([^()\s]*)|\)|([^()\s]+)", tree):
        if bracket:
            open_.append(len(found))
            found.append(_Constituent(label, len(words), len(words)))
        elif word:
            words.append(word)
        else:
            place = open_.pop()
            found[place] = found[place]._replace(end=len(words))
    return words, found


def _text(words: Sequence[str], kept: Counter) -> str:
    """The longest constituent that begins at a word is the outermost."""
    starts: dict[int, str] = {}
    ends: Counter = Counter()
    for one in sorted(kept.elements(), key=lambda one: one.start - one.end):
        starts[one.start] = f"{starts.get(one.start, '')}[{one.label} "
        ends[one.end] += 1
    places = enumerate(words)
    return " ".join(f"{starts.get(place, '')}{word}{']' * ends[place + 1]}" for place, word in places)
