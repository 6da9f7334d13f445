"""
Checks the names of labels, attributes and words, which become lines of a vocabulary file. A faulty name would make the
saved model unreadable: AllenNLP writes these files in UTF-8 and splits them at `\\n` and `\\r\\n`. Two names may not
look the same.
"""

import re
import unicodedata
from typing import Optional

from seal.common.setting_checks import abbreviate
from seal.registry import ConfigurationError

#: Half a surrogate pair, which UTF-8 cannot encode; an escape in JSON can produce one (`"\\udc80"`).
SURROGATE = re.compile("[\ud800-\udfff]")
# AllenNLP's entries for padding and for unknown words.
_RESERVED = ("@@PADDING@@", "@@UNKNOWN@@")
# Control characters, blanks other than the space, and invisible signs: soft hyphens, joiners, marks of direction,
# fillers, variation selectors.
_UNSEEN = re.compile(
    "[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800"
    "\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_JOINS = re.compile("[\u200c\u200d]")
_VARIES = re.compile("[\ufe00-\ufe0f\U000e0020-\U000e007f]")
_CONTROL_AT_AN_END = re.compile("^[\x00-\x1f\x7f-\x9f]|[\x00-\x1f\x7f-\x9f]\\Z")


def check_text(text: str, what: str) -> None:
    """
    Checks that a string is valid Unicode. `what` is its description in the message, with `file:line` if it is from a
    file.
    """
    if SURROGATE.search(text):
        raise ConfigurationError(f"{what} holds half a surrogate pair, which is not a character: {abbreviate(text)}.")


def check_name(name: str, what: str) -> None:
    """
    Checks a label, a tag, an attribute or a word, like `check_text`. It must not begin or end with a control character,
    nor be AllenNLP's entry for padding or for unknown words.
    """
    check_text(name, what)
    if name in _RESERVED:
        raise ConfigurationError(f"{what} is {name}, which AllenNLP's vocabulary keeps for itself; rename it.")
    if _CONTROL_AT_AN_END.search(name):
        raise ConfigurationError(
            f"{what} begins or ends with a control character, such as a line's end: {abbreviate(name)}."
        )


def clean_name(name: str, what: str) -> str:
    """
    Checks the name of a tag, a role, a label or an attribute, and returns it in Unicode's composed form (NFC), in which
    a letter with an accent is one character. Besides the requirements of `check_name`, it must have no invisible
    character, such as a no-break or a zero-width space, and no blank at an end.
    """
    if name.isascii() and name.isprintable() and name == name.strip() and name not in _RESERVED:
        return name  # The common case, fast for files of many short rows.
    check_name(name, what)
    unseen = _first_unseen(name)
    if unseen is not None:
        called = unicodedata.name(unseen, "control character").lower()
        raise ConfigurationError(
            f"{what} has a character that cannot be seen, U+{ord(unseen):04X} ({called}), and would look like another "
            f"name: {abbreviate(name)}; remove it."
        )
    if name.strip() and name != name.strip():
        raise ConfigurationError(f"{what} begins or ends with white space: {abbreviate(name)}.")
    return composed(name)


def composed(name: str) -> str:
    """The name in NFC."""
    return unicodedata.normalize("NFC", name)


def _first_unseen(name: str) -> Optional[str]:
    for match in _UNSEEN.finditer(name):
        place, sign = match.start(), match[0]
        # Some scripts and emoji join and vary characters by invisible signs.
        after, before = name[place + 1 : place + 2], name[max(place - 1, 0) : place]
        varies = _VARIES.match(sign) or (_JOINS.match(sign) and after and not after.isascii())
        if not (varies and before and not before.isascii()):
            return sign
    return None


def clean_label(name: str, what: str) -> str:
    """Checks and returns the label of a text, like `clean_name`. It must not be blank."""
    name = clean_name(name, what)
    if not name.strip():
        raise ConfigurationError(f"{what} is blank: {abbreviate(name)}.")
    return name
