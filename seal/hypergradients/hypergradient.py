"""The gradient of an outer loss through the minimum of an inner loss, by the implicit function theorem."""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Optional

import torch

from seal.hypergradients.guards import statistics_at_rest
from seal.hypergradients.input_spans import InputSpans
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.products import Loss, LossProducts, Reduce, both_layouts, evaluate, gradients_of, loss_products
from seal.hypergradients.solver import Curvature, InverseHessianVector, Solution, max_abs, norm_of
from seal.registry import ConfigurationError

# The disagreement of finite differences above which the report says so.
_DISAGREEMENT = 0.1


@dataclass
class HypergradientReport:
    """
    Information about the computation of a hypergradient, for logs: plain numbers and a sentence.

    # Parameters

    loss : `float`
        The outer loss.
    explicit_norm, implicit_norm : `float`
        Euclidean norms of the two parts.
    inner_gradient_norm : `float`, optional
        `|d L_Aux / d theta|`; 0 at a minimum, which the implicit part assumes.
    residual, steps, converged, status, curvature, products, has_problem, damping :
        As in `Solution`. If there was nothing to solve, `residual` is 0 and `converged` true. `has_problem` is also
        true if a requested implicit part is missing, except for an outer loss that is flat in the inner parameters (a
        hinge that no example violates).
    left_out : `bool`
        Whether the implicit part is left out because the residual is not below 1: the solution 0 has a residual of 1.
    disagreement : `float`, optional
        The relative difference between the first product at two radii; see `FiniteDifferenceProducts`. `None` with
        autograd.
    """

    loss: float
    explicit_norm: float
    implicit_norm: float = 0.0
    inner_gradient_norm: Optional[float] = None
    residual: Optional[float] = 0.0
    steps: int = 0
    converged: bool = True
    status: str = "explicit part alone"
    curvature: Optional[tuple[float, float]] = None
    products: int = 0
    has_problem: bool = False
    left_out: bool = False
    disagreement: Optional[float] = None
    damping: float = 0.0


@dataclass
class Hypergradient:
    """
    # Parameters

    gradient : `dict[str, torch.Tensor]`
        `explicit + implicit`, with the names, shapes and precision of the outer parameters, for their `.grad`.
    explicit, implicit : `dict[str, torch.Tensor]`
        The two parts of the gradient.
    report : `HypergradientReport`
    solution : `dict[str, torch.Tensor]`, optional
        `H^-1 dL_Prim/dtheta` by the names of the inner parameters, a `start` for the next system; `None` with `spans`,
        or if nothing was solved.
    """

    gradient: dict[str, torch.Tensor]
    explicit: dict[str, torch.Tensor]
    implicit: dict[str, torch.Tensor]
    report: HypergradientReport
    solution: Optional[dict[str, torch.Tensor]] = field(default=None, kw_only=True)


def hypergradient(
    inner_loss: Loss,
    outer_loss: Loss,
    inner: Mapping[str, torch.Tensor],
    outer: Mapping[str, torch.Tensor],
    solver: Optional[InverseHessianVector] = None,
    implicit: bool = True,
    products: str = "autograd",
    radius: Optional[float] = None,
    example_losses: Optional[Loss] = None,
    generator: Optional[torch.Generator] = None,
    reduce: Optional[Reduce] = None,
    spans: Optional[InputSpans] = None,
    metric: Optional[Mapping[str, torch.Tensor]] = None,
    start: Optional[Mapping[str, torch.Tensor]] = None,
) -> Hypergradient:
    """
    The gradient with respect to `psi` of `L_Prim(theta*(psi), psi)`, where `theta*(psi)` is a minimum of
    `L_Aux(., psi)`, by the implicit function theorem (implicit-training paper, Eq. 3-4):

        dL_Prim/dpsi = dL_Prim/dpsi (explicit) - J^T H^-1 dL_Prim/dtheta (implicit),
        H = d2 L_Aux / dtheta dtheta,   J = d2 L_Aux / dtheta dpsi

    at the parameters' present values, which should be near such a minimum. `H^-1` is applied first, then `J^T`. If the
    measured residual is not below 1, the implicit part is left out, because zeros are as good. Parameters, their
    `.grad` and the statistics of batch normalisation do not change. The outer loss draws its random numbers from the
    caller's stream. Every evaluation of the inner loss draws the numbers that follow there, without advancing the
    stream.

    # Parameters

    inner_loss : `Callable[[], torch.Tensor]`
        `L_Aux`, evaluated anew at each call from the parameters themselves; see `LossProducts`.
    outer_loss : `Callable[[], torch.Tensor]`
        `L_Prim`, computed in the same way; called once. If it uses random draws, gradients must pass through them to
        `theta`; otherwise there is no implicit part.
    inner, outer : `Mapping[str, torch.Tensor]`
        `theta` (the task-net's) and `psi` (the loss-net's), for example `dict(net.named_parameters())`; no tensor
        in both.
    solver : `InverseHessianVector`, optional
        Required unless `implicit` is false.
    implicit : `bool`, optional (default = `True`)
        `False`: only the explicit part is computed, which is the update of inference networks, and `inner_loss` is not
        called.
    products, radius :
        The computation of second derivatives, as for `loss_products`.
    example_losses : `Callable[[], torch.Tensor]`, optional
        Returns the loss of each example, `(examples,)`, for the solver `sherman_morrison`. `L_Aux` is their mean or
        sum, as the solver's option `average` says.
    generator : `torch.Generator`, optional
        Draws the solver's random vectors; see `Curvature`.
    reduce : `Callable[[torch.Tensor], torch.Tensor]`, optional
        Applied to every flat gradient and product of both losses, but not to example gradients; see `LossProducts`.
    spans : `InputSpans`, optional
        The spans of the inner parameters, with the recorded inputs of the inner loss. They make vectors much shorter if
        a net's first layer is wide. They exclude `reduce`, because each replica has its own spans.
    metric : `Mapping[str, torch.Tensor]`, optional
        A number `d > 0` for each element of the inner parameters, for example from the state of an optimizer. The
        system is solved in this geometry, `(S H S + damping I) u = S v` with `S = diag(d)^-1/2` and `q = S u`, so that
        damping is in units of `d` and the residual is that of `u`. It excludes `spans`.
    start : `Mapping[str, torch.Tensor]`, optional
        The start of the solver, such as the `solution` of an earlier batch; see `InverseHessianVector.solve`. It
        excludes `spans`.

    # Raises

    `ConfigurationError` if an argument is missing or a parameter frozen, or a loss depends on none of its parameters or
    has no second derivative; `NonFiniteValue` if a loss is not finite.
    """
    if implicit and solver is None:
        raise ConfigurationError("hypergradient: give a solver, or set implicit to false.")
    if spans is not None and any(given is not None for given in (reduce, metric, start)):
        raise ConfigurationError(
            "hypergradient: spans are each replica's own, and not of whole parameters; leave them out with reduce, "
            "metric or start."
        )
    theta, psi = both_layouts(inner, outer)
    loss, explicit, direction, reaches_inner = outer_gradients(outer_loss, theta, psi, reduce)
    report = HypergradientReport(loss, norm_of(explicit))
    change: Optional[torch.Tensor] = None
    found: Optional[dict[str, torch.Tensor]] = None
    if implicit and solver is not None:
        solved = theta
        if spans is not None:
            solved = spans.layout(theta)
            direction = spans.project(direction, theta, solved)
        with contextlib.nullcontext() if spans is None else spans.reparametrized():
            system = loss_products(inner_loss, solved, psi, products, radius, reduce)
            solution = _solve(solver, _curvature(system, example_losses, generator), direction, theta, metric, start)
            if spans is None:
                found = theta.named(solution.solution)
            change, norm, solution = _implicit_part(system, direction, reaches_inner, solution)
        report = _with_solution(report, system, norm, solution)
    change = torch.zeros_like(explicit) if change is None else change
    return Hypergradient(psi.named(explicit + change), psi.named(explicit), psi.named(change), report, solution=found)


def outer_gradients(
    outer_loss: Loss,
    theta: ParameterLayout,
    psi: ParameterLayout,
    reduce: Optional[Reduce] = None,
) -> tuple[float, torch.Tensor, torch.Tensor, bool]:
    """
    Evaluates and differentiates the outer loss.

    # Returns

    The loss; `dL_Prim/dpsi`, `(psi.size,)`, and `dL_Prim/dtheta`, `(theta.size,)`, zeros where it does not depend on
    them; and whether it has a graph into `theta`, whose gradient may still be 0.

    # Raises

    `ConfigurationError` if the loss depends on neither; `NonFiniteValue` if it is not finite.
    """
    with torch.enable_grad():
        value = evaluate(outer_loss, "outer")
        gradients = gradients_of(value, theta.tensors + psi.tensors)
    if all(gradient is None for gradient in gradients):
        raise ConfigurationError(
            "hypergradient: the outer loss depends on neither the inner nor the outer parameters; look for a "
            "detach, no_grad or a frozen net."
        )
    of_inner, of_outer = gradients[: len(theta.tensors)], gradients[len(theta.tensors) :]
    explicit, direction = psi.flatten(of_outer), theta.flatten(of_inner)
    if reduce is not None:
        explicit, direction = reduce(explicit), reduce(direction)
    reaches_inner = any(gradient is not None for gradient in of_inner)
    return float(value.detach()), explicit, direction, reaches_inner


def _solve(
    solver: InverseHessianVector,
    curvature: Curvature,
    direction: torch.Tensor,
    theta: ParameterLayout,
    metric: Optional[Mapping[str, torch.Tensor]],
    start: Optional[Mapping[str, torch.Tensor]],
) -> Solution:
    """The solution in the geometry of `metric`, from `start`."""
    first = None if start is None else theta.flatten_named(start)
    if metric is None:
        return solver.solve(curvature, direction) if first is None else solver.solve(curvature, direction, first)
    weights = theta.flatten_named(metric)
    if not bool((weights > 0).all()):
        raise ConfigurationError("hypergradient: each element of metric must be above 0.")
    scale = weights.rsqrt()
    first = None if first is None else first / scale
    solution = solver.solve(curvature.scaled(scale), direction * scale, first)
    return replace(solution, solution=solution.solution * scale)


def _curvature(system: LossProducts, example_losses: Optional[Loss], generator: Optional[torch.Generator]) -> Curvature:
    layout = system.inner
    example_gradients = None if example_losses is None else partial(_example_gradients, example_losses, system)
    return Curvature(system.hessian, layout.size, layout.dtype, layout.device, example_gradients, generator)


def _example_gradients(example_losses: Loss, system: LossProducts) -> torch.Tensor:
    """`(examples, size)`."""
    with system.randomness(), torch.enable_grad():
        with statistics_at_rest():
            losses = example_losses()
        if losses.dim() != 1:
            raise ConfigurationError(
                f"hypergradient: the example losses have shape {tuple(losses.shape)}, not (examples,)."
            )
        rows = [gradients_of(loss, system.inner.tensors, retain_graph=True) for loss in losses]
    return torch.stack([system.inner.flatten(row) for row in rows])


def _implicit_part(
    system: LossProducts, direction: torch.Tensor, reaches_inner: bool, solution: Solution
) -> tuple[Optional[torch.Tensor], float, Solution]:
    """`- J^T q`, or `None` if there is no implicit part; its norm; the solution, with any problem of that part."""
    if max_abs(direction) == 0:
        if reaches_inner:
            return None, 0.0, replace(solution, status="the outer loss is flat in the inner parameters")
        status = (
            "the outer loss has no gradient in the inner parameters, so there is no implicit part: look for a "
            "detach or for draws without a gradient"
        )
        return None, 0.0, replace(solution, status=status, has_problem=True)
    if _is_no_better_than_none(solution):
        status = f"the implicit part is left out: {solution.status}"
        return None, 0.0, replace(solution, status=status, has_problem=True)
    if max_abs(solution.solution) == 0:
        return None, 0.0, solution
    change = system.cross(solution.solution).neg()
    norm = norm_of(change)
    if not math.isfinite(norm):
        status = "the cross product is not finite, so the implicit part is left out: raise damping"
        return None, 0.0, replace(solution, status=status, converged=False, has_problem=True)
    if norm == 0:
        status = "the implicit part is zero: see whether the inner loss joins inner and outer parameters"
        return change, 0.0, replace(solution, status=f"{solution.status}; {status}", has_problem=True)
    return change, norm, solution


def _is_no_better_than_none(solution: Solution) -> bool:
    return solution.residual is not None and solution.residual >= 1


def _with_solution(
    report: HypergradientReport, system: LossProducts, implicit_norm: float, solution: Solution
) -> HypergradientReport:
    if system.disagreement is not None and system.disagreement > _DISAGREEMENT:
        status = (
            f"{solution.status}; finite differences at two radii are {system.disagreement:.0%} apart, so products are "
            "inexact: normalise the inputs, raise the precision, or take products 'autograd'"
        )
        solution = replace(solution, status=status, has_problem=True)
    return replace(
        report,
        implicit_norm=implicit_norm,
        inner_gradient_norm=norm_of(system.gradient),
        left_out=_is_no_better_than_none(solution),
        disagreement=system.disagreement,
        **{name: value for name, value in vars(solution).items() if name != "solution"},
    )
