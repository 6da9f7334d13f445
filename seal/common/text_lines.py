import gzip
import os
import zlib
from typing import Iterator, Tuple

from allennlp.common.checks import ConfigurationError

from seal.common.unpacked import most_unpacked, refuse


def check_ending(path: str) -> None:
    """Raises a `ConfigurationError` where a file is compressed by gzip, and its name does not end in `.gz`."""
    with open(path, "rb") as file:
        if file.read(2) == b"\x1f\x8b" and not path.endswith(".gz"):
            raise ConfigurationError(f"{path}: this is a gzip file; its name must end in '.gz'.")


def text_lines(path: str) -> Iterator[Tuple[int, str]]:
    """
    The lines of a UTF-8 file, which may be a `.gz`: the number of each line, from 1, and its text with the line end.

    # Raises

    `ConfigurationError` where there is no such file, where it unpacks to more than `most_unpacked`, or where it cannot
    be read or is not UTF-8; then with the number of the line.
    """
    if not os.path.isfile(path):
        raise ConfigurationError(
            f"{path}: there is no such file; put the data there (see data/README.md), or correct its path in the "
            "config."
        )
    number = 0
    try:
        check_ending(path)
        # Bytes, so that only "\n" ends a line and an undecodable byte can be reported with its line.
        packed = path.endswith(".gz")
        left = most = most_unpacked(path) if packed else -2
        with (gzip.open if packed else open)(path, "rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(left + 1), b""), start=1):
                if packed:
                    left -= len(line)
                    if left < 0:
                        raise refuse(path, most)
                # Some editors put a byte order mark before the first line.
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}:{number}: {undecodable(error)}.") from error
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigurationError(
            f"{path}:{number + 1}: the file cannot be read from here on ({error})."
        ) from error


def undecodable(error: UnicodeDecodeError) -> str:
    """What is told of a file that is not UTF-8, without the place."""
    return f"byte 0x{error.object[error.start]:02x} is not UTF-8; convert the file"


def column_lines(path: str) -> Iterator[Tuple[int, str]]:
    """
    As `text_lines`, for formats whose lines hold columns.

    # Raises

    `ConfigurationError` also at a carriage return inside a line, which would count as a blank: a file with the line
    ends of old Macs is all one line.
    """
    for number, line in text_lines(path):
        if "\r" in line.rstrip("\r\n"):
            raise ConfigurationError(
                f"{path}:{number}: a carriage return inside the line; save the file with line ends of Unix or Windows."
            )
        yield number, line
