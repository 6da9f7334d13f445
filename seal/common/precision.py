"""Keeps parts of a net in full precision under mixed precision, and others in bfloat16."""

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Optional

import torch


def in_full_precision(layer: torch.nn.Linear, hidden: torch.Tensor) -> torch.Tensor:
    """
    `layer(hidden)` in the precision of the layer's weights, also in mixed precision. Energies may be a few hundred, and
    at that size half precision cannot resolve the differences between candidates.
    """
    with torch.autocast(hidden.device.type, enabled=False):
        return layer(hidden.to(layer.weight.dtype))


def without_autocast(forward: Callable) -> Callable:
    """
    Decorator of an energy's `forward(condition, outputs, mask)` that keeps it in full precision, also in mixed
    precision: among many labels the change that a single one makes is too small for half precision.
    """

    @functools.wraps(forward)
    def in_full(
        self: torch.nn.Module,
        condition: Optional[torch.Tensor],
        outputs: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        with torch.autocast(outputs.device.type, enabled=False):
            return forward(self, condition, outputs, mask)

    return in_full


def at_least_float(values: torch.Tensor) -> torch.Tensor:
    """`values` in single precision if they had less, as the logits of a net in mixed precision may have."""
    return values.to(torch.promote_types(values.dtype, torch.float))


def mixed_precision(enabled: bool, device: torch.device) -> AbstractContextManager:
    """A context in which, if `enabled`, matrix products use bfloat16."""
    return torch.autocast(device.type, dtype=torch.bfloat16) if enabled else nullcontext()


@contextmanager
def mixed_precision_in(modules: Iterable[torch.nn.Module]) -> Iterator[None]:
    """
    A context in which `modules` run in mixed precision with bfloat16, on a CPU, and everything else in full precision.
    Each module returns one tensor, which is converted to at least single precision.
    """
    autocasts = {module: torch.autocast("cpu", dtype=torch.bfloat16) for module in modules}

    def enter(module: torch.nn.Module, arguments: Any) -> None:
        autocasts[module].__enter__()

    def leave(module: torch.nn.Module, arguments: Any, output: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        autocasts[module].__exit__(None, None, None)
        # After an exception there is no output.
        return None if output is None else at_least_float(output)

    handles = [module.register_forward_pre_hook(enter) for module in autocasts]
    handles += [module.register_forward_hook(leave, always_call=True) for module in autocasts]
    try:
        with torch.autocast("cpu", enabled=False):
            yield
    finally:
        for handle in handles:
            handle.remove()
