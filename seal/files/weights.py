"""Files of weights: whether one is whole, and whether what is in it can be predicted with."""

import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional

import torch
from allennlp.nn import util

from seal.registry import ConfigurationError


def check_is_whole(path: str) -> None:
    """
    Looks at the checksums of a file of weights, which PyTorch itself does not.

    # Raises

    `ConfigurationError` if it is none, or a damaged one; `OSError` if it cannot be read.
    """
    if not _check_sums(path):
        with _reading(path):
            util.read_state_dict(path)


def read_weights(path: str) -> dict[str, torch.Tensor]:
    """
    The weights of a file, by name.

    # Raises

    `ConfigurationError` if it is no file of weights, a damaged one, or a weight is not finite.
    """
    _check_sums(path)
    with _reading(path):
        weights = util.read_state_dict(path)
    check_finite(weights, path)
    return weights


def _check_sums(path: str) -> bool:
    """Whether the file has checksums; what torch wrote before its version 1.6 has none."""
    with _reading(path):
        if not zipfile.is_zipfile(path):
            return False
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    if damaged is not None:
        raise ConfigurationError(f"{path} is damaged: the checksum of '{damaged}' in it is wrong")
    return True


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, MemoryError, torch.cuda.OutOfMemoryError):
        raise
    except Exception as error:  # A file that is something else makes torch raise nearly anything.
        raise ConfigurationError(f"{path} is not a file of weights") from error


def check_finite(weights: Mapping[str, Any], path: str, learned: Optional[Collection[str]] = None) -> None:
    """
    # Raises

    `ConfigurationError` if a weight is not a number, or, where it is among those that are learned (all, where none are
    named), infinite.
    """
    for name, value in weights.items():
        if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
            continue
        if bool(value.sum().isfinite()):  # Quicker than to look at each of them.
            continue
        fit = value.isfinite() if learned is None or name in learned else ~value.isnan()
        if not bool(fit.all()):
            raise ConfigurationError(
                f"{path}: of the {fit.numel():,} numbers of '{name}' {int((~fit).sum()):,} are not finite, so nothing "
                "can be predicted with them; take the weights of a training that has not diverged"
            )
