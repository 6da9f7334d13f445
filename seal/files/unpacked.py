"""How much a compressed file of data may unpack to: a small one may hold more than memory does."""

import os

from allennlp.common.checks import ConfigurationError

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
    if not given.isdecimal():
        raise ConfigurationError(f"{VARIABLE}: a whole number of MiB, found {given!r}.")
    return int(given) * 2**20


def refuse(path: str, most: int) -> ConfigurationError:
    """The error for a file that unpacks to more."""
    return ConfigurationError(
        f"{path}: it unpacks to more than {most / 2**20:,.0f} MiB; if it is yours, set {VARIABLE} to more MiB in the "
        "environment, or unpack it."
    )
