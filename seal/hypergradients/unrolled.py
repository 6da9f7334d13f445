"""The gradient of an outer loss through unrolled steps of gradient descent on an inner loss."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.hypergradients.guards import FixedRandomness
from seal.hypergradients.hypergradient import Hypergradient, HypergradientReport, outer_gradients
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.products import Loss, Reduce, both_layouts, loss_gradient, loss_products
from seal.hypergradients.solver import norm_of


@dataclass
class UnrolledHypergradient(Hypergradient):
    """
    # Parameters

    final : `dict[str, torch.Tensor]`
        The inner parameters after the last step.
    gradient, explicit, implicit, report :
        As for `Hypergradient`; `implicit` is the part through the steps, and the report's `steps` their number.
    """

    final: dict[str, torch.Tensor]


def unrolled_hypergradient(
    inner_loss: Loss,
    outer_loss: Loss,
    inner: Mapping[str, torch.Tensor],
    outer: Mapping[str, torch.Tensor],
    num_steps: int,
    step_size: float,
    backward_steps: Optional[int] = None,
    products: str = "autograd",
    radius: Optional[float] = None,
    reduce: Optional[Reduce] = None,
) -> UnrolledHypergradient:
    """
    The gradient with respect to `psi` of `L_Prim(theta_T(psi), psi)`, where
    `theta_{t+1} = theta_t - step_size dL_Aux/dtheta (theta_t, psi)` starts from the present `theta`, by reverse-mode
    differentiation of the steps: a reference for the implicit gradient. With `a_T = dL_Prim/dtheta`,

        g <- g - step_size J_t^T a_{t+1},   a_t = a_{t+1} - step_size H_t a_{t+1},   t = T-1, ..., 0

    It tends to the implicit gradient as the steps converge; from a minimum, `K + 1` steps of size `1/c` give the
    Neumann series with `K` terms and divisor `c`. Afterwards the parameters have their former values, bit for bit.
    Every evaluation of the inner loss draws the same random numbers, and only the outer loss advances the caller's
    stream. Memory: `num_steps` copies of `theta`, or `backward_steps` if fewer.

    # Parameters

    inner_loss, outer_loss, inner, outer, products, radius, reduce :
        As for `hypergradient`.
    num_steps : `int`
        `T`, at least 1.
    step_size : `float`
        Above 0.
    backward_steps : `int`, optional
        How many of the last steps are differentiated; `None`: all steps.

    # Raises

    As `hypergradient`; `ConfigurationError` for numbers outside these ranges; `FloatingPointError` where the steps
    diverge.
    """
    check_range("unrolled_hypergradient: num_steps", num_steps, least=1)
    check_range("unrolled_hypergradient: step_size", step_size, above=0)
    check_range("unrolled_hypergradient: backward_steps", backward_steps, least=1)
    theta, psi = both_layouts(inner, outer)
    kept_steps = num_steps if backward_steps is None else min(num_steps, backward_steps)
    start = theta.copies()
    randomness = FixedRandomness([theta.device, psi.device])
    reduce = reduce or (lambda flat: flat)
    try:
        trajectory, slope = _descend(inner_loss, theta, randomness, reduce, step_size, num_steps, kept_steps)
        final = theta.named(theta.flatten(theta.tensors))
        loss, explicit, adjoint, _ = outer_gradients(outer_loss, theta, psi, reduce)
        through_steps = torch.zeros_like(explicit)
        for point in reversed(trajectory):
            theta.put_back(point)
            system = loss_products(inner_loss, theta, psi, products, radius, reduce, randomness)
            through_steps = through_steps - step_size * system.cross(adjoint)
            adjoint = adjoint - step_size * system.hessian(adjoint)
    finally:
        theta.put_back(start)
    if not bool(torch.isfinite(through_steps).all()):
        raise FloatingPointError("unrolled_hypergradient: the part through the steps is not finite; lower step_size.")
    report = HypergradientReport(
        loss,
        norm_of(explicit),
        norm_of(through_steps),
        norm_of(slope),
        residual=None,
        steps=num_steps,
        status=f"{len(trajectory)} of {num_steps} steps differentiated",
        products=2 * len(trajectory),
    )
    gradient = psi.named(explicit + through_steps)
    return UnrolledHypergradient(gradient, psi.named(explicit), psi.named(through_steps), report, final)


def _descend(
    inner_loss: Loss,
    theta: ParameterLayout,
    randomness: FixedRandomness,
    reduce: Reduce,
    step_size: float,
    num_steps: int,
    kept_steps: int,
) -> tuple[list[list[torch.Tensor]], torch.Tensor]:
    """Takes the steps; returns copies of `theta` before each of the last `kept_steps`, and the last gradient."""
    trajectory = []
    for step in range(num_steps):
        if step >= num_steps - kept_steps:
            trajectory.append(theta.copies())
        slope = reduce(loss_gradient(inner_loss, theta, randomness))
        for tensor, piece in zip(theta.tensors, theta.split(slope)):
            tensor.data.sub_(piece.to(tensor.dtype), alpha=step_size)
    return trajectory, slope
