"""Files that are whole or not there, whenever the program is killed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def replacing(path: str) -> Iterator[str]:
    """
    A name to write to; the file takes the place of `path` when the block ends without an error. It is never written
    over: it may be a hard link to another file.
    """
    draft = path + ".part"
    yield draft
    os.replace(draft, path)
