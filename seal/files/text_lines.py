"""
Lines of text files, packed or not. This module alone says what ends a line, and what is not text.
"""

import bz2
import gzip
import io
import itertools
import lzma
import os
import zlib
from collections.abc import Iterator
from typing import Optional, Union

from seal.files.other_formats import PACKED, binary_format, other_format
from seal.files.paths import user_path
from seal.files.unpacked import bounded
from seal.registry import ConfigurationError

_OPENERS: dict[str, type[Union[gzip.GzipFile, bz2.BZ2File, lzma.LZMAFile]]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
#: What reading a file raises that is damaged, or packed in another way than its name says.
READ_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)
#: As many bytes tell what a file is.
HEAD = 64
#: Among so many lines are the two that tell what a file of text is; a file of blank lines is read one by one.
LOOKED_AT = 1000


class NumberedLine(str):
    """A line of a file or of standard input, with its number from 1 as an editor counts lines."""

    number: int

    def __new__(cls, text: str, number: int) -> "NumberedLine":
        line = super().__new__(cls, text)
        line.number = number
        return line


def without_packing(path: str) -> str:
    """The path without the ending `.gz`, `.bz2` or `.xz`; the ending before it tells the format."""
    stem, ending = os.path.splitext(path)
    return stem if ending in _OPENERS else path


def opened(path: str) -> io.BufferedReader:
    """
    A file of text, open for its bytes, unpacked where its name ends in `.gz`, `.bz2` or `.xz`.

    # Raises

    `ConfigurationError` where the file is no text, and in reading where it unpacks to more than `most_unpacked`; and
    one of `READ_ERRORS` where it cannot be read.
    """
    packed = _OPENERS.get(os.path.splitext(path)[1])
    file = open(path, "rb") if packed is None else bounded(packed(path, "rb"), path)
    try:
        check_text_bytes(file.peek(HEAD)[:HEAD], path)
    except BaseException:
        file.close()
        raise
    return file


def check_text_bytes(head: bytes, what: str, has_name: bool = True) -> None:
    """
    It is an error if a file, `what` in the message, begins with bytes that are no text. The end of its name can tell
    that it is packed, except where it has none, as standard input.
    """
    found = binary_format(head)
    if found is None:
        return
    ending = next((ending for ending, kind in PACKED.items() if kind == found), None)
    if ending is not None:
        advice = f"its name must end in '{ending}'" if has_name else "unpack it first"
        raise ConfigurationError(f"{what}: this is {found}; {advice}.")
    advice = "save it as UTF-8" if found.startswith("text") else "save its content as text in UTF-8"
    raise ConfigurationError(f"{what}: this is {found}; {advice}.")


def text_lines(path: str, expected: Optional[str] = None, json_lines: bool = False) -> Iterator[tuple[int, str]]:
    """
    The lines of a UTF-8 file, which may be packed as a `.gz`, `.bz2` or `.xz`: the number of each line, from 1, and its
    text with the line end. Only `\\n` and `\\r\\n` end a line.

    # Parameters

    path : `str`
    expected : `str`, optional (default = `None`)
        What is read, such as `a text and its labels a line`: then a file that is JSON or XML is refused.
    json_lines : `bool`, optional (default = `False`)
        Whether JSON is read, an object a line.

    # Raises

    `ConfigurationError` where there is no such file, where it unpacks to more than `most_unpacked`, where it cannot be
    read or is not UTF-8, then with the number of the line; or where it has another format.
    """
    lines = _lines(path)
    if expected is None:
        return lines
    return _refusing_other_formats(path, expected, json_lines, lines)


def _lines(path: str) -> Iterator[tuple[int, str]]:
    path = user_path(path)
    if not os.path.isfile(path):
        raise ConfigurationError(
            f"{path}: there is no such file; put the data there (see data/README.md), or correct its path."
        )
    number = 0
    try:
        # Bytes, so that only "\n" ends a line and an undecodable byte can be reported with its line.
        with opened(path) as file:
            for number, line in enumerate(file, start=1):
                # Some editors put a byte order mark before the first line.
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}:{number}: {undecodable(error)}.") from error
    except READ_ERRORS as error:
        raise ConfigurationError(f"{path}:{number + 1}: the file cannot be read from here on ({error}).") from error


def _refusing_other_formats(
    path: str, expected: str, json_lines: bool, lines: Iterator[tuple[int, str]]
) -> Iterator[tuple[int, str]]:
    begin: list[tuple[int, str]] = []
    first: list[tuple[int, str]] = []
    for line in lines:
        begin.append(line)
        if not line[1].isspace():
            first.append(line)
        if len(first) == 2 or len(begin) == LOOKED_AT:
            break
    found = other_format([text for _, text in first], json_lines)
    if found is not None:
        raise ConfigurationError(f"{path}:{first[0][0]}: this looks like {found}; expected {expected}.")
    yield from itertools.chain(begin, lines)


def undecodable(error: UnicodeDecodeError) -> str:
    """The message for a file that is not UTF-8, without its place."""
    return f"byte 0x{error.object[error.start]:02x} is not UTF-8; convert the file"


def column_lines(path: str, expected: Optional[str] = None) -> Iterator[tuple[int, str]]:
    """
    As `text_lines`, for formats whose lines hold columns: there a carriage return inside a line, which would count as a
    blank, is an error. A file with the line ends of old Macs is all one line.
    """
    for number, line in text_lines(path, expected):
        if "\r" in line.rstrip("\r\n"):
            raise ConfigurationError(
                f"{path}:{number}: a carriage return inside the line; save the file with line ends of Unix or Windows."
            )
        yield number, line
