"""
Resolves paths of data. Existing paths are taken literally. In other paths `~` is the home folder, `*` is a wildcard,
and `#train` names a part of a file.
"""

import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from seal.common.setting_checks import check_that
from seal.registry import ConfigurationError

T = TypeVar("T")

#: The endings of compressed files, which are decompressed when they are read.
PACKED = (".gz", ".bz2", ".xz")


def user_path(path: str) -> str:
    """The path with an initial `~` or `~user` replaced by the home folder; an existing path is unchanged."""
    return path if not path.startswith("~") or os.path.exists(path) else os.path.expanduser(path)


def local_path(path: str) -> str:
    """
    The local path of a file or of a URL, which is downloaded. Unlike AllenNLP's function, it does not import the
    clients of remote storage for local files.
    """
    if os.path.exists(path):
        return path
    from allennlp.common import file_utils

    return file_utils.cached_path(path)


def one_path(path: Any) -> str:
    """`path` as a string, expanded by `user_path`. A list of paths, which other readers accept, is an error."""
    check_that(isinstance(path, (str, os.PathLike)), "the path of data", "one string here", path)
    return user_path(os.fspath(path))


def expanded(path: str) -> list[str]:
    """
    The files of a path: the files that match it, sorted, if it contains a `*` and does not exist; otherwise the path
    itself. `run[1]/*.arff` matches files of the folder `run[1]` if it exists.

    # Raises

    `ConfigurationError` if no file matches the pattern.
    """
    path = user_path(path)
    if "*" not in path or os.path.exists(path):
        return [path]
    files = sorted(glob.glob("*".join(map(glob.escape, path.split("*")))) or glob.glob(path))
    if not files:
        raise ConfigurationError(f"{path}: no file matches the pattern.")
    return files


def with_packings(endings: Iterable[str]) -> tuple[str, ...]:
    """The endings, alone and followed by the ending of a compressed file."""
    return tuple(ending + packing for ending in endings for packing in ("", *PACKED))


def data_files(path: Any, endings: Sequence[str], kinds: str) -> list[str]:
    """
    The files of a data path or pattern (`expanded`). A folder stands for every file below it whose name ends in one of
    `endings`, optionally followed by `.gz`, `.bz2` or `.xz`; they are sorted, so that the order does not depend on the
    file system. `kinds` describes the files in messages.
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
    """Yields the items unchanged. Raises a `ConfigurationError` with the message `complaint` if there are none."""
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise ConfigurationError(complaint)
