"""A bound on the unpacked size of a compressed file: a small file may unpack to more than memory holds."""

import io
import os
from typing import Any

from seal.common.setting_checks import short, whole_number
from seal.registry import ConfigurationError

#: In MiB; in the environment, a limit in the place of the default one.
VARIABLE = "SEAL_MAX_UNPACKED"
# A file may unpack to so many bytes, and to so many times its size.
_MOST_BYTES, _MOST_RATIO = 2**28, 50


def most_unpacked(path: str) -> int:
    """
    The number of bytes that a compressed file may unpack to: 256 MiB, or 50 times its size if that is more; or
    `SEAL_MAX_UNPACKED` MiB, where that is set.
    """
    given = os.environ.get(VARIABLE)
    if given is None:
        return max(_MOST_BYTES, _MOST_RATIO * os.path.getsize(path))
    number = whole_number(given)
    if number is None:
        raise ConfigurationError(f"{VARIABLE}: a whole number of MiB, found {short(given)}.")
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
    The bytes that a compressed file unpacks to, which the given one reads; reading more than `most_unpacked` raises
    `ConfigurationError`.
    """
    return io.BufferedReader(_Bounded(file, path), 2**16)


def refuse(path: str, most: int) -> ConfigurationError:
    """The error for a file that unpacks to more."""
    return ConfigurationError(
        f"{path}: it unpacks to more than {most / 2**20:,.0f} MiB; if it is yours, set {VARIABLE} to more MiB in the "
        "environment, or unpack it."
    )
