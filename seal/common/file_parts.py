"""
A path that names a part of a file: `FILE#train` and `FILE#valid`, where a data set has no validation split. Every
`valid_every`th item, the first among them, is of the latter.
"""

import glob
import os
from typing import Any, Iterable, Iterator, List, Optional, Tuple, TypeVar, Union

from allennlp.common.checks import ConfigurationError

from seal.common.quoting import short

PARTS = ("train", "valid")

T = TypeVar("T")


def one_path(path: Any) -> str:
    """
    # Raises

    `ConfigurationError` where it is no path; some readers take a list of them.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"the path of data must be one string here, found {short(path)}.")
    return os.fspath(path)


def split_off_part(path: Union[str, "os.PathLike[str]"]) -> Tuple[str, Optional[str]]:
    """
    The file and its part; `None` where the whole file is meant.

    # Raises

    `ConfigurationError` where the part is another, or the path is none.
    """
    path = one_path(path)
    file, mark, part = path.rpartition("#")
    if not mark:
        return path, None
    if part not in PARTS:
        raise ConfigurationError(f"{path}: the part of a file after '#' is one of {', '.join(PARTS)}, not '{part}'.")
    return file, part


def expanded(path: str) -> List[str]:
    """
    The path itself or, where it has a `*`, the files of that pattern in order.

    # Raises

    `ConfigurationError` where no file matches the pattern.
    """
    if "*" not in path:
        return [path]
    found = sorted(glob.glob(path))
    if not found:
        raise ConfigurationError(f"{path}: no file matches the pattern.")
    return found


def of_part(items: Iterable[T], part: Optional[str], valid_every: int) -> Iterator[T]:
    """Those of a file's items that are of the part; all of them where it is `None`."""
    for number, item in enumerate(items):
        if part is None or (number % valid_every == 0) == (part == "valid"):
            yield item


def not_empty(items: Iterable[T], complaint: str) -> Iterator[T]:
    """
    The items, as they come.

    # Raises

    `ConfigurationError` with the complaint, where there is none.
    """
    empty = True
    for item in items:
        empty = False
        yield item
    if empty:
        raise ConfigurationError(complaint)


def check_valid_every(valid_every: int) -> None:
    if valid_every < 2:
        raise ConfigurationError(f"dataset_reader.valid_every must be at least 2, found {valid_every}.")
