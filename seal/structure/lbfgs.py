"""L-BFGS for smooth functions of up to a few thousand variables."""

from collections import deque
from collections.abc import Callable

import torch

#: The number of pairs of a step and a change of the gradient in memory.
HISTORY = 20
#: The constant of Armijo's condition: a step must gain at least this share of the gain that the slope predicts.
SHARE = 1e-4


def minimise(
    function: Callable[[torch.Tensor], tuple[float, torch.Tensor]],
    start: torch.Tensor,
    max_steps: int = 60,
    tolerance: float = 1e-7,
    least_slope: float = 1e-5,
) -> torch.Tensor:
    """
    Minimises a function by L-BFGS (Nocedal & Wright 2006, algorithm 7.5) with a backtracking line search: a step is
    shortened to the minimum of a parabola, at most to a tenth and at least to a half, until it meets Armijo's
    condition. (`torch.optim.LBFGS` loads torch's compiler first, which takes seconds.)

    # Parameters

    function : `Callable`
        Takes `theta`, and returns the value and its gradient, `(size,)`.
    start : `torch.Tensor`, `(size,)`
    max_steps : `int`, optional (default = `60`)
    tolerance : `float`, optional (default = `1e-7`)
        The search ends after a step that lowers the value by less.
    least_slope : `float`, optional (default = `1e-5`)
        The search ends where no component of the gradient is larger.

    # Returns

    `torch.Tensor`, `(size,)`: the best `theta`
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
            # No descent direction, by rounding: restart with the gradient.
            history.clear()
            direction = -gradient
            slope = float(gradient @ direction)
        length = 1.0
        for _ in range(20):
            new_theta = theta + length * direction
            new_value, new_gradient = function(new_theta)
            if new_value <= value + SHARE * length * slope:
                break
            # The minimum of the parabola through both values and the slope.
            least = slope * length**2 / (2 * (value + slope * length - new_value)) if new_value < torch.inf else 0.0
            length = min(max(least, 0.1 * length), 0.5 * length)
        else:
            break
        step, change = new_theta - theta, new_gradient - gradient
        if step @ change > 1e-10 * step.norm() * change.norm():
            history.append((step, change))
        gain = value - new_value
        theta, value, gradient = new_theta, new_value, new_gradient
        if gain < tolerance:
            break
    return theta


def _times_inverse_hessian(vector: torch.Tensor, history: deque[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """The inverse Hessian's approximation times a vector, by the two-loop recursion (algorithm 7.4)."""
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
