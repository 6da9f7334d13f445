"""
Rules for single words of a reference: each matches words, and names the tags that are right for them.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

# Whether a rule matches the word at a place of a sentence.
Finder = Callable[[Sequence[str], int], bool]

CLOSING = frozenset([".", ",", ":", ";", "?", "!", ")", "]", "''", '"', "-RRB-", "-RSB-"])
"""Words after which a field may end."""
_CLOSING_LAST = (".", ",", ")", ":", ";")


class WordRule(NamedTuple):
    """
    # Parameters

    finds : `Callable[[Sequence[str], int], bool]`
    tags : `frozenset[str]`
        As a rule, one of these is right for a word that is matched.
    """

    finds: Finder
    tags: frozenset[str]


def _shaped(pattern: str) -> Finder:
    matches = re.compile(pattern).fullmatch
    return lambda words, place: matches(words[place]) is not None


def _listed(listed: str) -> Finder:
    known = frozenset(listed.split())
    return lambda words, place: words[place].rstrip(".,:").lower() in known


def _either(*finders: Finder) -> Finder:
    return lambda words, place: any(finds(words, place) for finds in finders)


def _begins(words: Sequence[str], place: int) -> bool:
    return place < 3


def _in(words: Sequence[str], place: int) -> bool:
    """Whether the word is `In` at the start of a field."""
    return place > 0 and words[place].lower() == "in" and closes(words[place - 1])


def _initial(words: Sequence[str], place: int) -> bool:
    word = words[place]
    following = words[place + 1] if place + 1 < len(words) else ""
    return word[:1].isupper() and (len(word) == 2 and word[1] == "." or len(word) == 1 and following == ".")


def _quoted(words: Sequence[str], place: int) -> bool:
    """Whether the word stands between the first pair of quotation marks."""
    for opening, closing in (("``", "''"), ("“", "”")):
        if opening in words and closing in words:
            return words.index(opening) <= place <= words.index(closing)
    return False


def closes(word: str) -> bool:
    """Whether a field may end after the word."""
    return word in CLOSING or word.endswith(_CLOSING_LAST)


WORD_RULES: dict[str, WordRule] = {
    name: WordRule(finds, frozenset(tags.split()))
    for name, finds, tags in (
        ("first_words", _begins, "author editor"),
        ("initial", _initial, "author editor"),
        ("year", _shaped(r"\(?(1[89]|20)\d\d[a-z]?\)?[.,]?"), "date"),
        (
            "month",
            _listed(
                "january february march april may june july august september october november december "
                "jan feb mar apr jun jul aug sep sept oct nov dec"
            ),
            "date",
        ),
        ("pages", _either(_shaped(r"\d+(--?|–)\d+[.,]?"), _listed("pp pages")), "pages"),
        ("volume", _either(_shaped(r"\d{0,3}\(\d{1,3}\)"), _listed("vol volume no")), "volume"),
        (
            "booktitle",
            _either(_in, _listed("proceedings proc conference conf symposium workshop symp")),
            "booktitle editor",
        ),
        (
            "journal",
            _listed("journal trans transactions letters magazine bulletin communications comm annals review"),
            "journal",
        ),
        ("tech", _listed("technical tech report rep thesis dissertation ph.d memo memorandum tr"), "tech"),
        (
            "institution",
            _listed("university univ dept department institute laboratory laboratories lab school center"),
            "institution",
        ),
        (
            "publisher",
            _listed(
                "press verlag springer springer-verlag wiley kaufmann elsevier addison-wesley north-holland "
                "academic prentice prentice-hall mcgraw-hill publishers publishing sons"
            ),
            "publisher",
        ),
        ("editor", _listed("editor editors eds ed"), "editor"),
        (
            "location",
            _listed(
                "york ca ma usa cambridge california massachusetts germany france italy japan canada australia "
                "netherlands london paris berlin boston amsterdam england uk"
            ),
            "location",
        ),
        ("note", _listed("submitted appear preparation unpublished preprint draft manuscript"), "note"),
        ("quoted", _quoted, "title"),
        # A word in lower case is part of a text.
        ("small_word", _shaped(r"[a-z]{4,}"), "title booktitle journal tech institution note"),
    )
}


@lru_cache(maxsize=8192)
def found_by_rules(words: tuple[str, ...]) -> tuple[tuple[bool, ...], ...]:
    """
    For each of `WORD_RULES`, in order, whether it matches each word. Cached, because every epoch reads the same
    references.
    """
    return tuple(tuple(rule.finds(words, place) for place in range(len(words))) for rule in WORD_RULES.values())
