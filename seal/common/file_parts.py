"""
Paths that name a part of a file, `FILE#train` and `FILE#valid`, for data sets without a validation split. Every
`valid_every`th item, starting with the first, belongs to `valid`; all other items belong to `train`.
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
    `path` as a string.

    # Raises

    `ConfigurationError` where it is not one path; some readers accept a list of paths.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ConfigurationError(f"the path of data must be one string here, found {short(path)}.")
    return os.fspath(path)


def split_off_part(path: Union[str, "os.PathLike[str]"]) -> Tuple[str, Optional[str]]:
    """
    Splits a path into the file and its part; the part is `None` where the whole file is meant.

    # Raises

    `ConfigurationError` where the part is neither `train` nor `valid`, or `path` is not a path.
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


def of_part(items: Iterable[T], part: Optional[str], valid_every: int) -> Iterator[T]:
    """The items of a file that belong to the part; all items where the part is `None`."""
    for number, item in enumerate(items):
        if part is None or (number % valid_every == 0) == (part == "valid"):
            yield item


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


def check_valid_every(valid_every: int) -> None:
    if valid_every < 2:
        raise ConfigurationError(f"dataset_reader.valid_every must be at least 2, found {valid_every}.")
