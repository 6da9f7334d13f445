"""Splits English text into sentences, by rules."""

import re

# A blank line; or what may end a sentence, with the quotes and brackets that it closes, before white space.
_END = re.compile(r"""\s*\n[^\S\n]*\n\s*|(?P<mark>[.!?\u2026]+)["'\u201d\u2019\u00bb)\]]*(?P<gap>\s+)""")
_OPENING = "\"'`([{\u201c\u2018\u201e\u00ab-\u2013\u2014\u2022*"
# The word that a full stop belongs to, and the next one.
_BEFORE = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]*|[^\W_]+")
_WORD = re.compile(r"[\w'\u2019]+")
#: Before a name.
_TITLES = frozenset(
    "mr mrs ms mx dr prof st mt ft gov sen rep gen adm col capt cpt lt sgt maj cmdr hon rev fr msgr pres supt "
    "messrs mme mlle e.g i.e cf viz vs".split()
)
#: Before a number.
_NUMBERED = frozenset("no nos fig figs sec secs p pp vol vols ch art eq eqs approx ca c tel ext op".split())
#: Within a sentence, and at its end.
_ABBREVIATIONS = frozenset(
    "inc co corp ltd llc plc bros jr sr esq etc al dept univ assn ave blvd rd est jan feb mar apr jun jul aug sep sept "
    "oct nov dec mon tue tues wed thu thur thurs fri sat sun approx ext min max".split()
)
#: Words that begin sentences, and seldom follow an abbreviation inside of one.
_STARTS = frozenset(
    "a after all also although an and any are as at because before both but by can could did do does during each even "
    "every everyone few first for from had has have he her here his how however i i'd i'll i'm i've if in is it it's "
    "its just last let maybe more most my nevertheless no nobody none not nothing now of on once one only or our "
    "perhaps please she since so some such that that's the their then there there's these they they're this those "
    "though thus to today we we're well were what when where which while who whose why will with yes yesterday yet you "
    "your".split()
)


def sentences(text: str) -> list[tuple[int, int]]:
    """
    The places `[start, end)` of the sentences of a text, without the white space around them. A text that is blank is
    one sentence.

    A sentence ends at a blank line, and at `.`, `!`, `?` or an ellipsis before white space and a word that does not
    begin with a small letter, unless the full stop is that of an initial, a title (`Mr.`), the number of a list, or an
    abbreviation before a number (`Fig. 3`). After another abbreviation, such as `U.S.` or `p.m.`, it ends where the
    next word is one that begins sentences.
    """
    found, start = [], len(text) - len(text.lstrip())
    for end in _END.finditer(text, start):
        if end.end() == len(text):
            break
        if end["mark"] is None:
            found.append((start, end.start()))
        elif _ends(text, start, end):
            found.append((start, end.start("gap")))
        else:
            continue
        start = end.end()
    return [*found, (start, max(start, len(text.rstrip())))]


def _ends(text: str, start: int, end: re.Match) -> bool:
    """Whether a sentence that begins at `start` ends where the pattern matches."""
    after = end.end()
    while after < len(text) and text[after] in _OPENING:
        after += 1
    word = _WORD.match(text, after)
    next_word = word[0] if word else ""
    if next_word[:1].islower() and next_word.islower():
        return False
    if end["mark"] != ".":
        return True
    # The last word before the full stop; a run of letters alone is short.
    head = text[max(start, end.start() - 40) : end.start()]
    before = [found for found in _BEFORE.finditer(head) if found.end() == len(head)]
    if not before:
        return True
    name = before[-1][0]
    if len(name) == 1 and name.isupper() and name != "I":
        return False
    if name.isdecimal() and not text[start : end.start()].removesuffix(name).strip(_OPENING):
        return False
    name = name.lower()
    if name in _TITLES or (name in _NUMBERED and next_word[:1].isdigit()):
        return False
    if name in _ABBREVIATIONS or "." in name:
        return next_word.lower() in _STARTS
    return True
