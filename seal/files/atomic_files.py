"""
Writes files atomically, names the file in an error of a full disk, and locks a file against a second writer.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from seal.registry import ConfigurationError

#: The errors of a full disk, an exhausted quota, and a file above the limit of the file system or of `ulimit`.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def with_filename(path: str) -> Iterator[None]:
    """A context that adds the name of the file to an error of a full disk: the system and torch leave it out."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = path
        raise
    except RuntimeError as error:
        # Torch's messages: the first when it writes a file, the second when it closes a small one.
        if "inline_container" not in str(error) and "iostream error" not in str(error):
            raise
        raise OSError(errno.ENOSPC, "the file cannot be written; the disk may be full", path) from error


@contextmanager
def atomic_write(path: str) -> Iterator[str]:
    """
    A context with a temporary name to write to. If the block ends without an error, the file replaces `path`, whose
    content is never overwritten, as it may be a hard link. After an error the temporary file is removed.
    """
    draft = path + ".part"
    try:
        with with_filename(path):
            yield draft
        os.replace(draft, path)
    except OSError as error:
        if error.filename == draft:
            error.filename = path
        # Removing the temporary file may fail, too.
        with suppress(OSError):
            os.remove(draft)
        raise


def open_locked(path: str, option: str) -> TextIO:
    """
    Opens a text file for writing, with line buffering, and empties it. The file is locked against a second program that
    opens it by this function, since the two would overwrite each other's lines. Pipes and devices are not locked.

    # Raises

    `ConfigurationError`, with the name of the command-line `option`, if another program writes the file; `OSError` if
    it cannot be opened.
    """
    # The mode "w" would empty the other program's file before the lock is checked. Appending also limits the damage of
    # a writer on another machine, whose locks may not be visible here.
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
