"""
Reads a line of input as a request about a sentence, and checks it.
"""

from typing import Any, NamedTuple, Optional

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import short
from seal.files.names import SURROGATE, check_text
from seal.files.strict_json import read_json


class SentenceRequest(NamedTuple):
    """
    A sentence that is to be predicted.

    # Parameters

    sentence : `str`, optional
        Raw text; `None` where there are words.
    words : `list[str]`, optional
        `None` where there is a sentence.
    predicates : `list[int]`, optional
        Indices of words, each once, in the order given; `None` where the predicates are to be found.
    """

    sentence: Optional[str]
    words: Optional[list[str]]
    predicates: Optional[list[int]]


def read_line(line: str) -> dict[str, Any]:
    """
    The object of a line, for `read_request`: of a JSON object where it starts with `{`, else of a sentence as plain
    text.
    """
    line = decodable(line)
    if not line.lstrip().startswith("{"):
        return {"sentence": line}
    return read_json(line, "the line starts with '{' and is not JSON")


def decodable(line: str) -> str:
    """
    The line without its end and a byte order mark. It is an error if a byte of it was not UTF-8, or if it holds half a
    surrogate pair.
    """
    line = line.rstrip("\r\n").lstrip("\ufeff")
    # `seal predict` reads with `surrogateescape` (`seal.files.input_lines`).
    undecodable = SURROGATE.search(line)
    if undecodable and not 0xDC80 <= ord(undecodable.group()) <= 0xDCFF:
        check_text(line, "the line")
    if undecodable:
        byte = ord(undecodable.group()) & 0xFF
        raise ConfigurationError(
            f"the byte 0x{byte:02x} at character {undecodable.start() + 1} is not UTF-8; save the file as UTF-8."
        )
    return line


def read_request(inputs: Any) -> SentenceRequest:
    """The request of the object of a line: `sentence`, or `words` and optionally `predicates`."""
    if not isinstance(inputs, dict):
        raise ConfigurationError(f"expected an object with 'sentence' or 'words', found {short(inputs)}.")
    sentence, words, predicates = (inputs.get(key) for key in ("sentence", "words", "predicates"))
    if "words" not in inputs and "sentence" not in inputs:
        found = ", ".join(short(key) for key in list(inputs)[:5]) or "no key"
        raise ConfigurationError(f"the object needs 'sentence' or 'words', found {found}.")
    if words is not None and sentence is not None:
        raise ConfigurationError("the object has both 'sentence' and 'words'; give one of them.")
    if words is None and "sentence" in inputs:
        _check_text(sentence, "'sentence'")
        if predicates is not None:
            raise ConfigurationError("'predicates' are indices of 'words'; give 'words' in place of 'sentence'.")
        return SentenceRequest(sentence, None, None)
    if not isinstance(words, list):
        raise ConfigurationError(f"'words' must be a list of strings, found {short(words)}.")
    if not words:
        raise ConfigurationError("'words' is empty; a sentence needs at least one word.")
    for index, word in enumerate(words):
        _check_text(word, f"word {index}")
    return SentenceRequest(None, words, None if predicates is None else _indices(predicates, len(words)))


def _check_text(text: Any, name: str) -> None:
    if not isinstance(text, str):
        raise ConfigurationError(f"{name} must be a string, found {short(text)}.")
    if not text or text.isspace():
        raise ConfigurationError(f"{name} is blank.")
    check_text(text, name)


def _indices(predicates: Any, num_words: int) -> list[int]:
    if not isinstance(predicates, list):
        raise ConfigurationError(f"'predicates' must be a list of indices, found {short(predicates)}.")
    for index in predicates:
        # `True` is an `int`, but not an index.
        if type(index) is not int:
            raise ConfigurationError(f"'predicates' must hold whole numbers, found {short(index)}.")
        if not 0 <= index < num_words:
            raise ConfigurationError(f"predicate {short(index)} is not the index of a word, 0 to {num_words - 1} here.")
    return list(dict.fromkeys(predicates))
