"""Helpers for state dicts with plain values and with tensors whose shapes depend on the training data."""

import json
from typing import Any

import torch
from torch import nn


def to_bytes(values: Any) -> torch.Tensor:
    """Encodes plain values as JSON, as a tensor of bytes."""
    return torch.tensor(list(json.dumps(values).encode()), dtype=torch.uint8)


def from_bytes(state: torch.Tensor) -> Any:
    """Decodes the tensor of `to_bytes`."""
    return json.loads(bytes(state.tolist()).decode())


def resize_buffers(module: nn.Module, state_dict: dict[str, Any], prefix: str) -> None:
    """Gives a module's buffers the shapes of a state dict: the shapes of counts depend on the training data."""
    for name, buffer in module._buffers.items():
        saved = state_dict.get(prefix + name)
        if saved is not None and buffer is not None and saved.shape != buffer.shape:
            module._buffers[name] = saved.to(buffer).clone()
