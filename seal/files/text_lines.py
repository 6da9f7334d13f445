"""
Reads the lines of text files, compressed or not.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Iterator
from typing import Any, Optional, Union

from seal.common.setting_checks import abbreviate, whole_number
from seal.files.format_sniffing import check_text_bytes, other_format
from seal.files.paths import user_path
from seal.registry import ConfigurationError

#: The environment variable with the limit of a decompressed file, in MiB.
VARIABLE = "SEAL_MAX_UNPACKED"
# The default limit of a decompressed file: the larger of this many bytes and this many times its size.
_MOST_BYTES, _MOST_RATIO = 2**28, 50


def most_unpacked(path: str) -> int:
    """
    The limit in bytes for a decompressed file: 256 MiB, or 50 times its compressed size if that is more. The
    environment variable `SEAL_MAX_UNPACKED`, in MiB, replaces it.
    """
    given = os.environ.get(VARIABLE)
    if given is None:
        return max(_MOST_BYTES, _MOST_RATIO * os.path.getsize(path))
    number = whole_number(given)
    if number is None:
        raise ConfigurationError(f"{VARIABLE}: a whole number of MiB, found {abbreviate(given)}.")
    return number * 2**20


class _Bounded(io.RawIOBase):
    def __init__(self, file: io.BufferedIOBase, path: str) -> None:
        self._file, self._path = file, path
        self._left = self._most = most_unpacked(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._file.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise refuse(self._path, self._most)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def bounded(file: io.BufferedIOBase, path: str) -> io.BufferedReader:
    """
    Wraps a decompressing file; reading more than `most_unpacked` bytes raises a `ConfigurationError`.
    """
    return io.BufferedReader(_Bounded(file, path), 2**16)


def refuse(path: str, most: int) -> ConfigurationError:
    """The error for a file that decompresses to more than `most` bytes."""
    return ConfigurationError(
        f"{path}: it unpacks to more than {most / 2**20:,.0f} MiB; if it is yours, set {VARIABLE} to more MiB in the "
        "environment, or unpack it."
    )


_OPENERS: dict[str, type[Union[gzip.GzipFile, bz2.BZ2File, lzma.LZMAFile]]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
#: The errors of reading a file that is damaged, or whose name has the wrong ending for its compression.
READ_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)
#: The separators of columns in files without tabs.
BLANKS = " \t\r\n\f\v"
_CELL = re.compile(f"[^{BLANKS}]+")
#: The number of first bytes from which the type of a file is detected.
HEAD = 64


class NumberedLine(str):
    """A line of a file or of standard input, with its line number, from 1."""

    number: int

    def __new__(cls, text: str, number: int) -> "NumberedLine":
        line = super().__new__(cls, text)
        line.number = number
        return line


def without_packing(path: str) -> str:
    """The path without the ending `.gz`, `.bz2` or `.xz`."""
    stem, ending = os.path.splitext(path)
    return stem if ending in _OPENERS else path


def opened(path: str) -> io.BufferedReader:
    """
    Opens a text file in binary mode; it is decompressed if its name ends in `.gz`, `.bz2` or `.xz`.

    # Raises

    `ConfigurationError` if the file is not text or, during reading, if it decompresses to more than `most_unpacked`;
    one of `READ_ERRORS` if it cannot be read.
    """
    packed = _OPENERS.get(os.path.splitext(path)[1])
    file = open(path, "rb") if packed is None else bounded(packed(path, "rb"), path)
    try:
        check_text_bytes(file.peek(HEAD)[:HEAD], path)
    except BaseException:
        file.close()
        raise
    return file


def text_lines(path: str, expected: Optional[str] = None, json_lines: bool = False) -> Iterator[tuple[int, str]]:
    """
    Yields the lines of a UTF-8 file, optionally compressed as `.gz`, `.bz2` or `.xz`: the number of each line, from 1,
    and its text with the line end. Only `\\n` and `\\r\\n` end a line.

    # Parameters

    path : `str`
    expected : `str`, optional (default = `None`)
        The expected content, for messages, such as `a text and its labels a line`. If it is given, a JSON or XML file
        is an error.
    json_lines : `bool`, optional (default = `False`)
        Whether JSON objects, one per line, are expected.

    # Raises

    `ConfigurationError` if the file does not exist, decompresses to more than `most_unpacked`, cannot be read, is not
    UTF-8, or has another format.
    """
    path = user_path(path)
    if not os.path.isfile(path):
        what = "this is a folder, not a" if os.path.isdir(path) else "there is no such"
        raise ConfigurationError(f"{path}: {what} file; put the data there (see data/README.md), or correct its path.")
    number, looks = 0, expected is not None
    try:
        # Bytes, so that only "\n" ends a line and an undecodable byte can be reported with its line.
        with opened(path) as file:
            for number, line in enumerate(file, start=1):
                # Some editors put a byte order mark before the first line.
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if looks and not text.isspace():
                    looks, other = False, other_format(text, json_lines)
                    if other is not None:
                        raise ConfigurationError(f"{path}:{number}: this looks like {other}; expected {expected}.")
                yield number, text
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}:{number}: {undecodable(error)}.") from error
    except READ_ERRORS as error:
        raise ConfigurationError(f"{path}:{number + 1}: the file cannot be read from here on ({error}).") from error


def undecodable(error: UnicodeDecodeError) -> str:
    """The message for a file that is not UTF-8, without its place."""
    return f"byte 0x{error.object[error.start]:02x} is not UTF-8; convert the file"


def cells_of(line: str) -> list[str]:
    """Splits a line at ASCII blanks. Unlike in `str.split`, a no-break space is part of a word, as in Twitter POS."""
    return _CELL.findall(line)


def column_lines(path: str, expected: Optional[str] = None) -> Iterator[tuple[int, str]]:
    """
    Yields the lines of a file of columns, like `text_lines`. A carriage return inside a line, as in a file with the
    line ends of old Macs, is an error.
    """
    for number, line in text_lines(path, expected):
        if "\r" in line.rstrip("\r\n"):
            raise ConfigurationError(
                f"{path}:{number}: a carriage return inside the line; save the file with line ends of Unix or Windows."
            )
        yield number, line
