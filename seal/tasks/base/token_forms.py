"""
Counts the forms of brackets, quotes and similar signs in the training data, and rewrites raw text in these forms.

Treebanks write `-LRB-` for `(` and two backticks for an opening quote; other data keep the signs as typed. A model
knows only the forms of its training data.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

#: The forms of each sign that is a separate word. A vocabulary holds them as `sign form`, most frequent first.
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
#: The forms of each sign inside words, the character of keyboards first.
INSIDE: dict[str, tuple[str, ...]] = {
    "apostrophe": ("'", "\u2019", "\u02bc", "\u00b4"),
    "hyphen": ("-", "\u2010", "\u2011"),
}
#: The entry for hyphenated words, and its two forms: one word, or three.
HYPHENATED, WHOLE, SPLIT = "hyphenated", "whole", "split"

_SIGNS_OF: dict[str, list[str]] = {}
for _sign, _forms in SIGNS.items():
    for _form in _forms:
        _SIGNS_OF.setdefault(_form, []).append(_sign)
_LETTER = r"[^\W\d_]"
_APOSTROPHE = re.compile(rf"(?<={_LETTER})[{''.join(INSIDE['apostrophe'])}](?={_LETTER})")
_HYPHEN = re.compile(rf"(?<={_LETTER})[{''.join(INSIDE['hyphen'])}](?={_LETTER})")
# English clitics with each form of the apostrophe.
_CLITICS = {
    clitic.replace("'", sign)
    for clitic in ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m")
    for sign in INSIDE["apostrophe"]
}
_IN_WORDS = {"apostrophe": _APOSTROPHE, "hyphen": _HYPHEN}


def count_forms(words: list[str]) -> dict[str, int]:
    """Counts the forms, each `sign form`, in the words of a sentence."""
    counts: Counter = Counter()
    for place, word in enumerate(words):
        if word == "-" and 0 < place < len(words) - 1 and words[place - 1].isalpha() and words[place + 1].isalpha():
            # In data with whole hyphenated words this is a dash: `WrittenForms` adds it to the dashes.
            counts[f"{HYPHENATED} {SPLIT}"] += 1
            continue
        for sign in _SIGNS_OF.get(word, ()):
            counts[f"{sign} {word}"] += 1
        if word.isalnum():
            continue
        for name, pattern in _IN_WORDS.items():
            for match in pattern.finditer(word):
                counts[f"{name} {match.group()}"] += 1
        if word.lower() in _CLITICS:
            counts[f"apostrophe {next(sign for sign in word if not sign.isalpha())}"] += 1
        if _HYPHEN.search(word):
            counts[f"{HYPHENATED} {WHOLE}"] += 1
    return dict(counts)


class WrittenForms:
    """
    Rewrites text in the forms of the training data.

    # Parameters

    forms : `Iterable[str]`
        The keys of `count_forms` over the training data, most frequent first. If empty, text stays unchanged.
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
        """Whether the training data have hyphenated words as one word, in the majority of cases."""
        return self._seen.get(HYPHENATED, [SPLIT])[0] == WHOLE

    def characters(self, text: str) -> str:
        """The text, of the same length, with the apostrophes and hyphens of the training data inside words."""
        for name, pattern in _IN_WORDS.items():
            seen = self._seen.get(name)
            if name == "hyphen" and HYPHENATED in self._seen:
                seen = seen or ["-"]
            if seen:
                text = pattern.sub(lambda match: match.group() if match.group() in seen else seen[0], text)
        return text

    def joins(self, word: str) -> bool:
        """Whether adjacent words of a splitter, concatenated to `word`, form one sign."""
        return len(word) > 1 and bool(self) and word in _SIGNS_OF

    def words(self, words: list[str], text: str, offsets: list[list[int]]) -> list[str]:
        """
        The words in the forms of the training data.

        # Parameters

        words : `list[str]`
        text : `str`
            The text of the words. The characters around a quote show whether it opens or closes.
        offsets : `list[list[int]]`
            `[start, end)` of each word in the text.
        """
        written, quotes = [], 0
        for word, (start, end) in zip(words, offsets):
            signs: Sequence[str] = _SIGNS_OF.get(word, ())
            if word == '"':
                quotes += 1
                before, after = text[max(start - 1, 0) : start], text[end : end + 1]
                opens = not before.strip() or before in "([{-\u2013\u2014/"
                if opens == (not after.strip()):
                    # Blanks on both sides or on neither: quotes open and close in turn.
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
