"""
Paths of data: one file, or a pattern of several; an empty one is refused. A path is first taken as the name of a file.
If there is none, `~` is the home folder, `*` makes it a pattern, and `#train` names a part of a file.
"""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from seal.common.setting_checks import check_that
from seal.registry import ConfigurationError

T = TypeVar("T")

#: The ends of the names of packed files, which reading unpacks.
PACKED = (".gz", ".bz2", ".xz")


def user_path(path: str) -> str:
    """The path, with the home folder in the place of a `~` or `~user` at its start, unless a file has that name."""
    return path if not path.startswith("~") or os.path.exists(path) else os.path.expanduser(path)


def local_path(path: str) -> str:
    """
    The path of a file, or where that of a URL was downloaded to. (AllenNLP's function imports the clients of remote
    storage for local files, too.)
    """
    if os.path.exists(path):
        return path
    from allennlp.common import file_utils

    return file_utils.cached_path(path)


def one_path(path: Any) -> str:
    """`path` as a string, as `user_path` gives it; some readers accept a list of paths, which is an error here."""
    check_that(isinstance(path, (str, os.PathLike)), "the path of data", "one string here", path)
    return user_path(os.fspath(path))


def expanded(path: str) -> list[str]:
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


def with_packings(endings: Iterable[str]) -> tuple[str, ...]:
    """The endings, alone and followed by one of a packed file."""
    return tuple(ending + packing for ending in endings for packing in ("", *PACKED))


def data_files(path: Any, endings: Sequence[str], kinds: str) -> list[str]:
    """
    The files a data path, or each one that a pattern matches (`expanded`), stands for: a file stands for itself, and a
    folder for every file below it whose name ends in one of `endings`, or in one of these and `.gz`, `.bz2` or `.xz`;
    sorted, so that the order does not depend on the file system. `kinds` says what such a file holds, for messages.
    """
    return [file for one in expanded(one_path(path)) for file in _files_of(one, endings, kinds)]


def _files_of(path: str, endings: Sequence[str], kinds: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path):
        raise ConfigurationError(
            f"{path}: there is no such file or folder; put the data there ({kinds}) or set the data path of the config "
            "to where it is."
        )
    packed = with_packings(tuple(endings))
    files = sorted(
        os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names if name.endswith(packed)
    )
    if not files:
        raise ConfigurationError(
            f"{path}: no file in this folder has a name that ends in {', '.join(endings[:-1])} or {endings[-1]}, or in "
            "one of these and .gz, .bz2 or .xz."
        )
    return files


def not_empty(items: Iterable[T], complaint: str) -> Iterator[T]:
    """Passes the items on one by one. Where there is none, it is an error with the text `complaint`."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise ConfigurationError(complaint)
