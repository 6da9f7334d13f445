"""
Writes files whole or not at all, even if the program is killed; finds the file that a full disk has cut short; and
keeps a second program from a file that is being written.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from seal.registry import ConfigurationError

#: A full disk, a quota that is used up, and a file that is longer than its file system or `ulimit` lets it be.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def with_filename(path: str) -> Iterator[None]:
    """An error of a full disk that is raised inside gets the name of the file, which the system and torch leave out."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = path
        raise
    except RuntimeError as error:
        # Of torch: the first where it writes, the second where it closes a small file.
        if "inline_container" not in str(error) and "iostream error" not in str(error):
            raise
        raise OSError(errno.ENOSPC, "the file cannot be written; the disk may be full", path) from error


@contextmanager
def atomic_write(path: str) -> Iterator[str]:
    """
    A name to write to; the file takes the place of `path` when the block ends without an error. It is never written
    over: it may be a hard link to another file. With an error nothing is left behind.
    """
    draft = path + ".part"
    try:
        with with_filename(path):
            yield draft
        os.replace(draft, path)
    except OSError as error:
        if error.filename == draft:
            error.filename = path
        # On a full disk its room may be what is missing.
        with suppress(OSError):
            os.remove(draft)
        raise


def open_locked(path: str, option: str) -> TextIO:
    """
    Opens a file of text for writing, by lines, and empties it: unless another program has opened it by this function,
    and not closed it. The two would write over each other, and the lines of both would be lost. A pipe or a device may
    have several writers.

    # Raises

    `ConfigurationError`, with the option that names the file, where another program writes it; `OSError` where it
    cannot be opened.
    """
    # Not "w", which would empty the file of the other program. At the end of the file, as the other one may also be of
    # a machine whose locks are not seen here.
    file = open(path, "a", buffering=1, encoding="utf-8")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise ConfigurationError(f"{option}: another command writes '{path}'; wait for it, or name another.") from None
    except OSError:
        pass  # A file system without locks.
    file.truncate(0)
    return file
