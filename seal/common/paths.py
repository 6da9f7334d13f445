"""
Paths of data: one or a pattern of many, with something in the files. A file that exists is meant by its own name,
whatever signs the name has; only then `~` is the home folder, `*` a pattern and `#train` a part of a file.
"""

import glob
import os
from typing import Any, Iterable, Iterator, List, TypeVar

from allennlp.common.checks import ConfigurationError

from seal.common.quoting import short

T = TypeVar("T")


def user_path(path: str) -> str:
    """The path, with the home folder in the place of a `~` or `~user` at its start, unless a file has that name."""
    return path if not path.startswith("~") or os.path.exists(path) else os.path.expanduser(path)


def one_path(path: Any) -> str:
    """
    `path` as a string, as `user_path` gives it.

    # Raises

    `ConfigurationError` where it is not one path; some readers accept a list of paths.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"the path of data must be one string here, found {short(path)}.")
    return user_path(os.fspath(path))


def expanded(path: str) -> List[str]:
    """
    The path itself or, where it contains a `*` and is not the name of a file, the files that match the pattern, sorted.
    `run[1]/*.arff` are files of the folder `run[1]` where there is one.

    # Raises

    `ConfigurationError` where no file matches the pattern.
    """
    path = user_path(path)
    if "*" not in path or os.path.exists(path):
        return [path]
    found = sorted(glob.glob("*".join(map(glob.escape, path.split("*")))) or glob.glob(path))
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
