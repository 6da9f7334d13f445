"""
How data write brackets, quotes and the like: which forms the training data have, and text brought to them.

Treebanks write `-LRB-` for `(` and two backticks for an opening quote; other data keep signs as they were typed. A
model knows only the forms that it was trained on.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

#: The forms of each sign that is a word of its own. A vocabulary has them as `sign form`, the commonest first.
SIGNS: dict[str, tuple[str, ...]] = {
    "(": ("(", "-LRB-", "-lrb-"),
    ")": (")", "-RRB-", "-rrb-"),
    "[": ("[", "-LSB-", "-lsb-"),
    "]": ("]", "-RSB-", "-rsb-"),
    "{": ("{", "-LCB-", "-lcb-"),
    "}": ("}", "-RCB-", "-rcb-"),
    "opening": ("``", '"', "\u201c", "\u201e", "\u00ab"),
    "closing": ("''", '"', "\u201d", "\u00bb"),
    "single-opening": ("`", "\u2018", "\u2039"),
    "single-closing": ("'", "\u2019", "\u203a"),
    "ellipsis": ("...", "\u2026", ". . ."),
    "dash": ("--", "-", "\u2014", "\u2013", "---", "\u2212"),
}
#: Signs inside of words, and the character of each that keyboards have.
INSIDE: dict[str, tuple[str, ...]] = {
    "apostrophe": ("'", "\u2019", "\u02bc", "\u00b4"),
    "hyphen": ("-", "\u2010", "\u2011"),
}
#: Whether a hyphenated word is one word, or three.
HYPHENATED, WHOLE, SPLIT = "hyphenated", "whole", "split"

_SIGNS_OF: dict[str, list[str]] = {}
for _sign, _forms in SIGNS.items():
    for _form in _forms:
        _SIGNS_OF.setdefault(_form, []).append(_sign)
_LETTER = r"[^\W\d_]"
_APOSTROPHE = re.compile(rf"(?<={_LETTER})[{''.join(INSIDE['apostrophe'])}](?={_LETTER})")
_HYPHEN = re.compile(rf"(?<={_LETTER})[{''.join(INSIDE['hyphen'])}](?={_LETTER})")
# Words with an apostrophe at their beginning, or before one letter.
_CLITICS = {
    clitic.replace("'", sign)
    for clitic in ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m")
    for sign in INSIDE["apostrophe"]
}
_IN_WORDS = {"apostrophe": _APOSTROPHE, "hyphen": _HYPHEN}


def count_forms(words: list[str]) -> dict[str, int]:
    """The forms that the words of a sentence are written in, each `sign form`, with their number."""
    found: Counter = Counter()
    for place, word in enumerate(words):
        if word == "-" and 0 < place < len(words) - 1 and words[place - 1].isalpha() and words[place + 1].isalpha():
            # A dash, where the data have hyphenated words that are whole.
            found[f"{HYPHENATED} {SPLIT}"] += 1
            continue
        for sign in _SIGNS_OF.get(word, ()):
            found[f"{sign} {word}"] += 1
        if word.isalnum():
            continue
        for name, pattern in _IN_WORDS.items():
            for match in pattern.finditer(word):
                found[f"{name} {match.group()}"] += 1
        if word.lower() in _CLITICS:
            found[f"apostrophe {next(sign for sign in word if not sign.isalpha())}"] += 1
        if _HYPHEN.search(word):
            found[f"{HYPHENATED} {WHOLE}"] += 1
    return dict(found)


class WrittenForms:
    """
    Brings text to the forms of the training data.

    # Parameters

    forms : `Iterable[str]`
        Those of `count_forms` over the training data, the commonest first. Without any nothing is changed.
    """

    def __init__(self, forms: Iterable[str]) -> None:
        self._seen: dict[str, list[str]] = {}
        for form in forms:
            sign, _, written = form.partition(" ")
            self._seen.setdefault(sign, []).append(written)
        if self.keeps_hyphenated and SPLIT in self._seen[HYPHENATED]:
            self._seen.setdefault("dash", []).append("-")

    def __bool__(self) -> bool:
        return bool(self._seen)

    @property
    def keeps_hyphenated(self) -> bool:
        """Whether hyphenated words are one word in the training data."""
        return self._seen.get(HYPHENATED, [SPLIT])[0] == WHOLE

    def characters(self, text: str) -> str:
        """The text with apostrophes and hyphens inside of words as in the training data; of the same length."""
        for name, pattern in _IN_WORDS.items():
            seen = self._seen.get(name)
            if name == "hyphen" and HYPHENATED in self._seen:
                seen = seen or ["-"]
            if seen:
                text = pattern.sub(lambda match: match.group() if match.group() in seen else seen[0], text)
        return text

    def joins(self, word: str) -> bool:
        """Whether a splitter's words without a blank between them are one sign of this form."""
        return len(word) > 1 and bool(self) and word in _SIGNS_OF

    def words(self, words: list[str], text: str, offsets: list[list[int]]) -> list[str]:
        """
        The words as the training data would write them.

        # Parameters

        words : `list[str]`
        text : `str`
        offsets : `list[list[int]]`
            `[start, end)` of each word in the text, which tells whether a quote opens or closes.
        """
        written, quotes = [], 0
        for word, (start, end) in zip(words, offsets):
            signs: Sequence[str] = _SIGNS_OF.get(word, ())
            if word == '"':
                quotes += 1
                before, after = text[max(start - 1, 0) : start], text[end : end + 1]
                opens = not before.strip() or before in "([{-\u2013\u2014/"
                if opens == (not after.strip()):
                    # As much room before as behind.
                    opens = quotes % 2 == 1
                signs = ("opening",) if opens else ("closing",)
            elif word == "-" and text[start - 1 : end + 1].strip() == text[start - 1 : end + 1] and 0 < start:
                signs = ()  # A hyphen, or a minus.
            for sign in signs:
                seen = self._seen.get(sign)
                if seen and word not in seen:
                    word = seen[0]
                    break
            written.append(word)
        return written
