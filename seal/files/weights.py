"""
Reads and checks torch's files of weights, and reads and writes tensors with text in the format safetensors.
"""

import json
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Optional

import torch

from seal.files.atomic_files import atomic_write
from seal.registry import ConfigurationError


def check_is_whole(path: str) -> None:
    """
    Verifies the checksums of a file of weights, which PyTorch ignores.

    # Raises

    `ConfigurationError` if it is not a file of weights, or damaged; `OSError` if it cannot be read.
    """
    if not _check_sums(path):
        with _reading(path):
            _loaded(path)


def read_weights(path: str) -> dict[str, torch.Tensor]:
    """
    The weights of a file, by name.

    # Raises

    `ConfigurationError` if it is not a file of weights, or damaged, or a weight is not finite.
    """
    _check_sums(path)
    with _reading(path):
        weights = _loaded(path)
    check_finite(weights, path)
    return weights


def _check_sums(path: str) -> bool:
    """Verifies the checksums. Returns False for a file of torch before version 1.6, which has none."""
    with _reading(path):
        if not zipfile.is_zipfile(path):
            return False
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    if damaged is not None:
        raise ConfigurationError(f"{path} is damaged: the checksum of '{damaged}' in it is wrong")
    return True


def _loaded(path: str) -> dict[str, torch.Tensor]:
    return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, MemoryError, torch.cuda.OutOfMemoryError):
        raise
    except Exception as error:  # For another kind of file torch may raise any exception.
        raise ConfigurationError(f"{path} is not a file of weights") from error


def check_finite(weights: Mapping[str, Any], path: str, learned: Optional[Collection[str]] = None) -> None:
    """
    Checks that the weights of the file `path` are finite.

    # Raises

    `ConfigurationError` if a weight is NaN, or if a `learned` weight (`None`: any weight) is infinite.
    """
    for name, value in weights.items():
        if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
            continue
        if bool(value.sum().isfinite()):  # Faster than checking each number.
            continue
        fit = value.isfinite() if learned is None or name in learned else ~value.isnan()
        if not bool(fit.all()):
            raise ConfigurationError(
                f"{path}: of the {fit.numel():,} numbers of '{name}' {int((~fit).sum()):,} are not finite, so nothing "
                "can be predicted with them; take the weights of a training that has not diverged"
            )


_TYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def write_tensors(path: str, tensors: Mapping[str, torch.Tensor], text: Mapping[str, str] | None = None) -> None:
    """Writes tensors and some `text`, by name, to a file atomically."""
    header: dict[str, object] = {"__metadata__": dict(text)} if text else {}
    parts, place = [], 0
    for name, tensor in tensors.items():
        numbers = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [place, place + numbers.size],
        }
        parts.append(numbers)
        place += numbers.size
    head = json.dumps(header).encode()
    # The numbers begin at a multiple of 8.
    head += b" " * (-len(head) % 8)
    with atomic_write(path) as draft, open(draft, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for numbers in parts:
            file.write(numbers.data)


def read_tensors(path: str) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """
    The tensors and the text of a file.

    # Raises

    `ConfigurationError` if the file is missing or incomplete.
    """
    try:
        with open(path, "rb") as file:
            content = bytearray(file.read())
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length].decode())
        text = header.pop("__metadata__", {})
        tensors = {}
        for name, entry in header.items():
            start, end = (8 + length + place for place in entry["data_offsets"])
            kind, shape = _TYPES[entry["dtype"]], tuple(entry["shape"])
            if not 8 + length <= start <= end <= len(content):
                raise ValueError(f"there is no place {end}")
            # The slice is a copy: numbers must be aligned to their type.
            numbers = torch.frombuffer(content[start:end], dtype=kind) if end > start else torch.empty(0, dtype=kind)
            tensors[name] = numbers.reshape(shape)
        return tensors, text
    except OSError as error:
        raise ConfigurationError(f"'{path}' cannot be read ({error.strerror}).") from error
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigurationError(f"'{path}' is not a whole file of safetensors ({error}).") from error
