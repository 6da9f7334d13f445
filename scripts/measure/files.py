"""Files that are whole or not there, whenever the program is killed."""

import fcntl
import gzip
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A name to write to; the file takes `path`'s place when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The ending is kept: writers choose the format by it.
    draft = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield draft
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, content: str) -> None:
    with atomic_write(path) as draft:
        draft.write_text(content, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=1) + "\n")


def write_gzip(path: Path, content: str) -> None:
    """Equal contents become equal bytes: the archive's header has neither a time nor the draft's name."""
    with atomic_write(path) as draft, open(draft, "wb") as file:
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as archive:
            archive.write(content.encode("utf-8"))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@contextmanager
def locked(path: Path, wait: Callable[[], None] = partial(time.sleep, 0.2)) -> Iterator[int]:
    """
    Admits one process at a time. A child that inherits the yielded descriptor keeps the lock while it lives: if
    only this process is killed, the next one waits for the training that continues without it.

    `wait`: called repeatedly while another process has the lock. An exception that it raises ends the waiting.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        while not _take(descriptor):
            wait()
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> bool:
    """Takes the lock if it is free; returns whether it was."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
