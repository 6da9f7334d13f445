"""Dictionaries and lists of tensors and numbers, such as batches, states and weights."""

from collections.abc import Mapping
from typing import Any

import numpy
import torch


def shapes_of(weights: Mapping[str, torch.Tensor]) -> dict[str, tuple[int, ...]]:
    """The shape of each weight, by its name."""
    return {name: tuple(value.shape) for name, value in weights.items()}


def plain(value: Any) -> Any:
    """
    `value` with every numpy scalar and 0-dimensional tensor in it replaced by a Python number. Since torch 2.6
    `torch.load` reads only plain data by default, so a state that holds a numpy scalar cannot be loaded again.
    """
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(plain(item) for item in value)
    if isinstance(value, numpy.generic) or (isinstance(value, torch.Tensor) and value.dim() == 0):
        return value.item()
    return value
