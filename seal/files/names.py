"""
Checks for strings that become lines of a vocabulary file: with a bad one the saved model could not be loaded. AllenNLP
writes these files in UTF-8 and splits them at `\\n` and `\\r\\n`. No two names of outputs, or of attributes, may look
the same.
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
# Control characters, blanks other than the space, and signs without a look: soft hyphens, joiners, marks of direction,
# fillers, variations.
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
    Checks that a string is valid Unicode; `what` is the message's name for it, after `file:line` where it is from a
    file.
    """
    if SURROGATE.search(text):
        raise ConfigurationError(f"{what} holds half a surrogate pair, which is not a character: {abbreviate(text)}.")


def check_name(name: str, what: str) -> None:
    """
    As `check_text`, for a label, a tag, an attribute or a word: it must not begin or end with a control character, nor
    be one of the two that AllenNLP's vocabularies have for padding and for unknown words.
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
    The name of a tag, a role, a label or an attribute, in the one form in which all readers write it: Unicode's
    composed form (NFC), in which an accent is no character of its own. Besides what `check_name` refuses, it must have
    no character that nobody sees, such as a no-break or a zero-width space, and no blank at an end.
    """
    if name.isascii() and name.isprintable() and name == name.strip() and name not in _RESERVED:
        return name  # As most are: files of many short rows spend less time here.
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
    for found in _UNSEEN.finditer(name):
        place, sign = found.start(), found[0]
        # Some scripts and emoji join and vary characters by signs that have no look of their own.
        after, before = name[place + 1 : place + 2], name[max(place - 1, 0) : place]
        varies = _VARIES.match(sign) or (_JOINS.match(sign) and after and not after.isascii())
        if not (varies and before and not before.isascii()):
            return sign
    return None


def clean_label(name: str, what: str) -> str:
    """As `clean_name`, for a label of a text, which must not be blank."""
    name = clean_name(name, what)
    if not name.strip():
        raise ConfigurationError(f"{what} is blank: {abbreviate(name)}.")
    return name
