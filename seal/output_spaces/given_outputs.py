"""
Checks of outputs whose energy a caller asks for. Each mistake is a `ConfigurationError`.
"""

from collections.abc import Sequence
from typing import Any

import torch

from seal.registry import ConfigurationError

#: How far a relaxed output may lie outside [0, 1], by rounding.
_TOLERANCE = 1e-4


def check_shape(outputs: Any, batch: int, shapes: Sequence[Sequence[int]]) -> None:
    """`(batch, candidates, *shape)` is needed, with any of the shapes; a message names the first."""
    if not isinstance(outputs, torch.Tensor):
        raise ConfigurationError(f"outputs: a tensor of torch is needed, not {type(outputs).__name__}.")
    found = tuple(outputs.shape)
    if len(found) < 3 or found[0] != batch or list(found[2:]) not in [list(shape) for shape in shapes]:
        wanted = ", ".join(map(str, shapes[0]))
        raise ConfigurationError(
            f"outputs: ({batch}, candidates, {wanted}) is needed, not {found}; a single candidate needs its axis, too."
        )


def check_indices(outputs: torch.Tensor, number: int) -> None:
    """Discrete outputs in the compact form: indices from 0 to `number - 1`, as torch gathers by them."""
    if outputs.dtype not in (torch.int64, torch.int32):
        raise ConfigurationError(
            f"outputs: indices are needed as torch.int64, not {outputs.dtype}; call .long() on them."
        )
    _check_least_and_most(outputs, 0, number - 1, f"indices from 0 to {number - 1} are needed")


def check_relaxed(outputs: torch.Tensor) -> None:
    """Values in [0, 1]; none is NaN."""
    if outputs.is_complex():
        raise ConfigurationError(f"outputs: numbers from 0 to 1 are needed, not {outputs.dtype}.")
    if outputs.dtype != torch.bool:
        expected = "numbers from 0 to 1 are needed, such as probabilities"
        _check_least_and_most(outputs.detach(), -_TOLERANCE, 1 + _TOLERANCE, expected)


def check_floating(outputs: torch.Tensor, like: torch.Tensor) -> None:
    """The type in which the model computes, unless autocast brings tensors to one type."""
    if not outputs.is_floating_point():
        raise ConfigurationError(
            f"outputs: one probability for each label of a token is needed as {like.dtype}, not {outputs.dtype}; call "
            ".to() on them, or give indices."
        )
    if outputs.dtype != like.dtype and not torch.is_autocast_enabled(like.device.type):
        raise ConfigurationError(
            f"outputs: {like.dtype} is needed, in which the model computes, not {outputs.dtype}; call .to() on them."
        )


def _check_least_and_most(outputs: torch.Tensor, least: float, most: float, expected: str) -> None:
    if outputs.numel() == 0:
        return
    for found, wrong in ((outputs.min(), outputs.min() < least), (outputs.max(), outputs.max() > most)):
        # NaN is neither below nor above anything.
        if bool(wrong) or bool(found.isnan()):
            raise ConfigurationError(f"outputs: {expected}, and there is {found.item():g}.")
