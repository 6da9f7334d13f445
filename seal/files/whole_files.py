"""
Writes files whole or not at all, even if the program is killed; and finds the file that a full disk has cut short.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def naming(path: str) -> Iterator[None]:
    """An error of a full disk that is raised inside gets the name of the file, which the system and torch leave out."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
            error.filename = path
        raise
    except RuntimeError as error:
        # Of torch: the first where it writes, the second where it closes a small file.
        if "inline_container" not in str(error) and "iostream error" not in str(error):
            raise
        raise OSError(errno.ENOSPC, "the file cannot be written; the disk may be full", path) from error


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """
    A name to write to; the file takes the place of `path` when the block ends without an error. It is never written
    over: it may be a hard link to another file.
    """
    draft = path + ".part"
    with naming(path):
        yield draft
    os.replace(draft, path)
