from typing import Any

import torch


def select_rows(inputs: Any, rows: torch.Tensor) -> Any:
    """The given rows of every tensor of a nested dictionary."""
    if isinstance(inputs, dict):
        return {name: select_rows(value, rows) for name, value in inputs.items()}
    return inputs[rows]
