"""
A path that names a part of a file: `FILE#train` and `FILE#valid`, where a data set has no validation split. Every
`valid_every`th item, the first among them, is of the latter.
"""

import os
from typing import Iterable, Iterator, Optional, Tuple, TypeVar, Union

from allennlp.common.checks import ConfigurationError

PARTS = ("train", "valid")

T = TypeVar("T")


def split_off_part(path: Union[str, "os.PathLike[str]"]) -> Tuple[str, Optional[str]]:
    """
    The file and its part; `None` where the whole file is meant.

    # Raises

    `ConfigurationError` where the part is another.
    """
    path = os.fspath(path)
    file, mark, part = path.rpartition("#")
    if not mark:
        return path, None
    if part not in PARTS:
        raise ConfigurationError(f"{path}: the part of a file after '#' is one of {', '.join(PARTS)}, not '{part}'.")
    return file, part


def of_part(items: Iterable[T], part: Optional[str], valid_every: int) -> Iterator[T]:
    """Those of a file's items that are of the part; all of them where it is `None`."""
    for number, item in enumerate(items):
        if part is None or (number % valid_every == 0) == (part == "valid"):
            yield item


def check_valid_every(valid_every: int) -> None:
    if valid_every < 2:
        raise ConfigurationError(f"dataset_reader.valid_every must be at least 2, found {valid_every}.")
