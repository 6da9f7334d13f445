import functools
from typing import Callable, Optional

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
