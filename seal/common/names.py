"""
What becomes a line of a vocabulary's files, or else the model could not be loaded again: AllenNLP writes them in
UTF-8 and splits them at `\\n` and `\\r\\n`.
"""

import re

from allennlp.common.checks import ConfigurationError

from seal.common.quoting import short

#: Half a pair, which UTF-8 cannot hold; JSON's escapes make it (`"\\udc80"`).
SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL_AT_AN_END = re.compile("^[\x00-\x1f\x7f-\x9f]|[\x00-\x1f\x7f-\x9f]\\Z")


def check_text(text: str, what: str) -> None:
    """
    # Parameters

    text : `str`
    what : `str`
        It, for the message, behind `file:line` where it is from a file.

    # Raises

    `ConfigurationError` where it is no valid Unicode.
    """
    if SURROGATE.search(text):
        raise ConfigurationError(f"{what} holds half a surrogate pair, which is no character: {short(text)}.")


def check_name(name: str, what: str) -> None:
    """
    As [`check_text`](#check_text), of a label, a tag, an attribute or a word.

    # Raises

    `ConfigurationError` also where it begins or ends with a control character.
    """
    check_text(name, what)
    if _CONTROL_AT_AN_END.search(name):
        raise ConfigurationError(
            f"{what} begins or ends with a control character, such as a line's end: {short(name)}."
        )


def check_label(name: str, what: str) -> None:
    """
    As [`check_name`](#check_name), of a label that a text is given.

    # Raises

    `ConfigurationError` also where it is blank, or begins or ends with white space: another label to look at like it.
    """
    check_name(name, what)
    if not name.strip():
        raise ConfigurationError(f"{what} is blank: {short(name)}.")
    if name != name.strip():
        raise ConfigurationError(f"{what} begins or ends with white space: {short(name)}.")
