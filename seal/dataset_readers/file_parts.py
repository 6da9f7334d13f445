"""
Paths that name a part of a file, `FILE#train` and `FILE#valid`, for data sets without a validation split. Every
`valid_every`th item, starting with the first, belongs to `valid`; all other items belong to `train`. Where a file has
the `#` in its own name, the path is that file, whole.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Optional, TypeVar, Union

from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import check_range
from seal.files.paths import one_path

PARTS = ("train", "valid")

T = TypeVar("T")


def split_off_part(path: Union[str, "os.PathLike[str]"]) -> tuple[str, Optional[str]]:
    """
    Splits a path into the file and its part; the part is `None` where the whole file is meant.

    # Raises

    `ConfigurationError` where there is no file of that name and the part is neither `train` nor `valid`, or `path` is
    not a path.
    """
    path = one_path(path)
    file, mark, part = path.rpartition("#")
    # A part has no folder: in `run#1/dev.tsv` the sign is one of a folder's name.
    if not mark or os.sep in part or os.path.exists(path):
        return path, None
    if part not in PARTS:
        raise ConfigurationError(f"{path}: the part of a file after '#' is one of {', '.join(PARTS)}, not '{part}'.")
    return file, part


def of_part(items: Iterable[T], part: Optional[str], valid_every: float) -> Iterator[T]:
    """
    The items of a file that belong to the part; all items where the part is `None`. The share of `valid` is
    `1 / valid_every`, rounded up to a whole item: of seven, `2.5` gives it the first, fourth and sixth.
    """
    for number, item in enumerate(items):
        if part is None or (number % valid_every < 1) == (part == "valid"):
            yield item


def check_valid_every(valid_every: float) -> None:
    """Raises a `ConfigurationError` where `valid_every` is too small to leave items for `train`."""
    check_range("dataset_reader.valid_every", valid_every, least=2)
