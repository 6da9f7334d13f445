"""Hashes contents to find equal ones, numbers them, and splits data into folds that keep equal inputs together."""

import hashlib
import json
from collections.abc import Hashable, Iterable
from typing import Any, Optional, Union

import numpy
import torch


def digest(*parts: Union[bytes, numpy.ndarray]) -> int:
    """
    A hash from 0 to 2^64 - 1 of bytes and arrays; 0.0 and -0.0 have the same hash. Among a hundred million different
    contents, two have the same hash with a probability of 0.0003, and then count as equal.
    """
    found = hashlib.blake2b(digest_size=8)
    for part in parts:
        if isinstance(part, numpy.ndarray):
            # Adding 0.0 turns -0.0 into 0.0, which has other bytes.
            part = (part + 0.0 if part.dtype.kind in "fc" else part).tobytes()
        found.update(part)
    return int.from_bytes(found.digest(), "little")


def numbered(contents: Iterable[Hashable]) -> torch.Tensor:
    """Numbers the contents by equality, 0, 1, ... in the order of their first occurrence: `(n,)`."""
    numbers: dict[Hashable, int] = {}
    return torch.tensor([numbers.setdefault(content, len(numbers)) for content in contents], dtype=torch.long)


def content(value: Any, exact: bool = False) -> Optional[int]:
    """
    A hash of an input: of text, numbers, and lists, arrays and dictionaries of them.

    # Parameters

    value : `Any`
    exact : `bool`, optional (default = `False`)
        Whether case and white space of texts count.

    # Returns

    `int`, 0 to 2^64 - 1; `None` if the input contains an object of another type
    """
    try:
        return digest(json.dumps(_plain(value, exact), sort_keys=True).encode())
    except (TypeError, ValueError):
        return None


def _plain(value: Any, exact: bool) -> Any:
    if isinstance(value, str):
        return value if exact else " ".join(value.casefold().split())
    if isinstance(value, bytes):
        return _plain(value.decode("latin-1"), exact)
    if isinstance(value, (list, tuple)):
        return [_plain(each, exact) for each in value]
    if isinstance(value, dict):
        return [[_plain(name, exact), _plain(each, exact)] for name, each in sorted(value.items())]
    if hasattr(value, "tolist"):
        values = value.tolist()
        return _plain(values, exact) if isinstance(value, numpy.ndarray) and value.dtype.kind in "OSU" else values
    return value


def numbers_of_equal(values: Iterable[Any], exact: bool = False) -> numpy.ndarray:
    """
    Numbers the values by their `content`, 0, 1, ... in the order of first occurrence: `(values,)`. A value without a
    content differs from all others.
    """
    contents = (content(value, exact) for value in values)
    return numbered(("other", place) if number is None else number for place, number in enumerate(contents)).numpy()


def in_order(values: numpy.ndarray) -> numpy.ndarray:
    """Replaces the values `(n,)` by the numbers 0, 1, ... in the order of their first occurrence: `(n,)`."""
    _, first, inverse = numpy.unique(values, return_index=True, return_inverse=True)
    return first.argsort().argsort()[inverse]


def folds_of_equal(numbers: numpy.ndarray, folds: int, seed: int) -> list[list[int]]:
    """
    Splits the indices of `numbers`, `(n,)`, into folds at random, such that equal numbers are in the same fold. The
    numbers are 0, 1, ... without a gap. Each fold gets the same count of distinct numbers; a frequent number makes its
    fold larger.
    """
    different = int(numbers.max(initial=-1)) + 1
    order = torch.randperm(different, generator=torch.Generator().manual_seed(seed)).numpy()
    fold_of_number = numpy.empty(different, dtype=int)
    for fold in range(folds):
        fold_of_number[order[fold::folds]] = fold
    return [numpy.flatnonzero(fold_of_number[numbers] == fold).tolist() for fold in range(folds)]
