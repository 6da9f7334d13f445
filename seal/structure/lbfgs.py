"""Minimisation of smooth functions of a few thousand numbers."""

from collections import deque
from collections.abc import Callable

import torch

#: Corrections that are kept.
HISTORY = 20
#: A step is short enough where it gains this share of what the slope at its start promises (Armijo).
SHARE = 1e-4


def minimise(
    function: Callable[[torch.Tensor], tuple[float, torch.Tensor]],
    start: torch.Tensor,
    max_steps: int = 60,
    tolerance: float = 1e-7,
    least_slope: float = 1e-5,
) -> torch.Tensor:
    """
    Minimises a function by L-BFGS (Nocedal & Wright 2006, algorithm 7.5). A step is halved, or shortened to the minimum
    of a parabola, until it gains enough. (`torch.optim.LBFGS` loads torch's compiler first, which takes seconds.)

    # Parameters

    function : `Callable`
        Given `theta`, the value and its gradient, `(size,)`.
    start : `torch.Tensor`, `(size,)`
    max_steps : `int`, optional (default = `60`)
    tolerance : `float`, optional (default = `1e-7`)
        A step that gains less is the last one.
    least_slope : `float`, optional (default = `1e-5`)
        Where no component of the gradient is larger, the minimum is reached.

    # Returns

    `torch.Tensor`, `(size,)`
    """
    theta = start.clone()
    value, gradient = function(theta)
    history: deque[tuple[torch.Tensor, torch.Tensor]] = deque(maxlen=HISTORY)
    for _ in range(max_steps):
        if gradient.abs().amax() <= least_slope:
            break
        direction = -_times_inverse_hessian(gradient, history)
        slope = float(gradient @ direction)
        if slope >= 0:
            # By rounding; the corrections are of no use any more.
            history.clear()
            direction = -gradient
            slope = float(gradient @ direction)
        length = 1.0
        for _ in range(20):
            there = theta + length * direction
            found, gradient_there = function(there)
            if found <= value + SHARE * length * slope:
                break
            # The minimum of the parabola through both values and the slope.
            least = slope * length**2 / (2 * (value + slope * length - found)) if found < torch.inf else 0.0
            length = min(max(least, 0.1 * length), 0.5 * length)
        else:
            break
        step, change = there - theta, gradient_there - gradient
        if step @ change > 1e-10 * step.norm() * change.norm():
            history.append((step, change))
        gain = value - found
        theta, value, gradient = there, found, gradient_there
        if gain < tolerance:
            break
    return theta


def _times_inverse_hessian(vector: torch.Tensor, history: deque[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """The two-loop recursion (algorithm 7.4)."""
    vector, shares = vector.clone(), []
    for step, change in reversed(history):
        share = (step @ vector) / (step @ change)
        vector -= share * change
        shares.append(share)
    if history:
        step, change = history[-1]
        vector *= (step @ change) / (change @ change)
    for (step, change), share in zip(history, reversed(shares)):
        vector += step * (share - (change @ vector) / (step @ change))
    return vector
