"""
Tensors and text in one file of the format safetensors, which holds no code, as a pickle may: the length of a header
(8 bytes, little end first), the header (JSON: type, shape and place of each tensor), and the numbers. Needs torch
alone. https://huggingface.co/docs/safetensors
"""

import json
from collections.abc import Mapping

import torch

from seal.files.whole_files import replacing
from seal.registry import ConfigurationError

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
    """Writes the tensors, and beside them some `text` by name, to a file that is there whole or not at all."""
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
    with replacing(path) as draft, open(draft, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for numbers in parts:
            file.write(numbers.data)


def read_tensors(path: str) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """
    The tensors and the text of a file.

    # Raises

    `ConfigurationError` if the file is not there, or not whole.
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
            # At a place of its own: numbers must begin where their type may.
            numbers = torch.frombuffer(content[start:end], dtype=kind) if end > start else torch.empty(0, dtype=kind)
            tensors[name] = numbers.reshape(shape)
        return tensors, text
    except OSError as error:
        raise ConfigurationError(f"'{path}' cannot be read ({error.strerror}).") from error
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigurationError(f"'{path}' is not a whole file of safetensors ({error}).") from error
