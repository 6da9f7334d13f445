"""
Paths of data: one or a pattern of many, with something in the files.
"""

import glob
import os
from typing import Any, Iterable, Iterator, List, TypeVar

from allennlp.common.checks import ConfigurationError

from seal.common.quoting import short

T = TypeVar("T")


def one_path(path: Any) -> str:
    """
    `path` as a string.

    # Raises

    `ConfigurationError` where it is not one path; some readers accept a list of paths.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"the path of data must be one string here, found {short(path)}.")
    return os.fspath(path)


def expanded(path: str) -> List[str]:
    """
    The path itself or, where it contains a `*`, the files that match the pattern, sorted.

    # Raises

    `ConfigurationError` where no file matches the pattern.
    """
    if "*" not in path:
        return [path]
    found = sorted(glob.glob(path))
    if not found:
        raise ConfigurationError(f"{path}: no file matches the pattern.")
    return found


def not_empty(items: Iterable[T], complaint: str) -> Iterator[T]:
    """
    Passes the items on one by one.

    # Raises

    `ConfigurationError` with the text `complaint`, where there is no item.
    """
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise ConfigurationError(complaint)
