"""What state dicts of structures have beside tensors of known shapes."""

import json
from typing import Any

import torch
from torch import nn


def to_bytes(values: Any) -> torch.Tensor:
    """Plain values as JSON, in a tensor of its bytes."""
    return torch.tensor(list(json.dumps(values).encode()), dtype=torch.uint8)


def from_bytes(state: torch.Tensor) -> Any:
    """The values of `to_bytes`."""
    return json.loads(bytes(state.tolist()).decode())


def take_shapes(module: nn.Module, state_dict: dict[str, Any], prefix: str) -> None:
    """Gives a module's buffers the shapes that they have in a state: what is counted has others in each data set."""
    for name, buffer in module._buffers.items():
        saved = state_dict.get(prefix + name)
        if saved is not None and buffer is not None and saved.shape != buffer.shape:
            module._buffers[name] = saved.to(buffer).clone()
