from typing import Any

import numpy
import torch


def plain(value: Any) -> Any:
    """
    `value` with every numpy scalar and 0-dimensional tensor in it made a Python number: `torch.load` reads only plain
    data by default since torch 2.6, so a state with one of the former cannot be loaded again.
    """
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, numpy.generic) or (isinstance(value, torch.Tensor) and value.dim() == 0):
        return value.item()
    return value
