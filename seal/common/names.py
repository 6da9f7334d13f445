"""
Checks for strings that become lines of a vocabulary file: with a bad one the saved model could not be loaded. AllenNLP
writes these files in UTF-8 and splits them at `\\n` and `\\r\\n`.
"""

import re

from allennlp.common.checks import ConfigurationError
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN, DEFAULT_PADDING_TOKEN

from seal.common.quoting import short

#: Half a surrogate pair, which UTF-8 cannot encode; an escape in JSON can produce one (`"\\udc80"`).
SURROGATE = re.compile("[\ud800-\udfff]")
_RESERVED = (DEFAULT_PADDING_TOKEN, DEFAULT_OOV_TOKEN)
_CONTROL_AT_AN_END = re.compile("^[\x00-\x1f\x7f-\x9f]|[\x00-\x1f\x7f-\x9f]\\Z")


def check_text(text: str, what: str) -> None:
    """
    Checks that a string is valid Unicode.

    # Parameters

    text : `str`
    what : `str`
        What the message calls the string, after `file:line` where it is from a file.

    # Raises

    `ConfigurationError` where it is not valid Unicode.
    """
    if SURROGATE.search(text):
        raise ConfigurationError(f"{what} holds half a surrogate pair, which is not a character: {short(text)}.")


def check_name(name: str, what: str) -> None:
    """
    As `check_text`, for a label, a tag, an attribute or a word.

    # Raises

    `ConfigurationError` also where the name begins or ends with a control character, or is one of the two that
    AllenNLP's vocabularies have for padding and for unknown words.
    """
    check_text(name, what)
    if name in _RESERVED:
        raise ConfigurationError(f"{what} is {name}, which AllenNLP's vocabulary keeps for itself; rename it.")
    if _CONTROL_AT_AN_END.search(name):
        raise ConfigurationError(
            f"{what} begins or ends with a control character, such as a line's end: {short(name)}."
        )


def check_label(name: str, what: str) -> None:
    """
    As `check_name`, for a label of a text.

    # Raises

    `ConfigurationError` also where the label is blank, or begins or ends with white space, which makes two labels look
    the same.
    """
    check_name(name, what)
    if not name.strip():
        raise ConfigurationError(f"{what} is blank: {short(name)}.")
    if name != name.strip():
        raise ConfigurationError(f"{what} begins or ends with white space: {short(name)}.")
