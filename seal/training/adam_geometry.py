"""The geometry of a player's Adam, in which the system of an implicit gradient can be solved."""

from collections.abc import Mapping
from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError

# The least weight of a parameter, in units of the mean one.
_LEAST_WEIGHT = 0.01


def adam_geometry(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.nn.Parameter]
) -> Optional[dict[str, torch.Tensor]]:
    """
    For each parameter, by name, the roots of the optimizer's average squared gradients, divided by their mean and at
    least a hundredth; `None` before the first update.
    """
    states = optimizer.state
    squares = {name: states[p]["exp_avg_sq"] for name, p in parameters.items() if "exp_avg_sq" in states.get(p, {})}
    if not squares:
        return None
    roots = {name: squares[name].sqrt() if name in squares else torch.zeros_like(p) for name, p in parameters.items()}
    size = sum(root.numel() for root in roots.values())
    mean = (sum(root.sum() for root in roots.values()) / size).clamp(min=torch.finfo(torch.float32).tiny)
    return {name: (root / mean).clamp(min=_LEAST_WEIGHT) for name, root in roots.items()}


def check_adam(optimizer: torch.optim.Optimizer) -> None:
    """`ConfigurationError` if the task-net's optimizer keeps no averages of squared gradients."""
    if not isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam)):
        raise ConfigurationError(
            f"trainer.geometry: 'adam', and the task-net's optimizer is {type(optimizer).__name__}; take 'fused_adamw' "
            "or another Adam."
        )
