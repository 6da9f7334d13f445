"""Solvers by a truncated Neumann series, and by a multiple of the identity."""

from collections.abc import Callable
from typing import Optional, Union

import torch

from seal.common.setting_checks import check_range
from seal.hypergradients.krylov import krylov_space
from seal.hypergradients.solver import InverseHessianVector, System, norm_of
from seal.registry import ConfigurationError


@InverseHessianVector.register("neumann")
class NeumannSeries(InverseHessianVector):
    """
    `q = (1/c) sum_{i=0..K} (I - A/c)^i v` with `A = H + damping I` and the divisor `c` (implicit-training paper,
    Appendix A, with the final `1/c` that is not printed there). It converges if every eigenvalue of `A` lies in (0,
    2c); along an eigenvector of eigenvalue `l`, the fraction `(1 - l/c)^(K+1)` of the solution is missing after `K`
    terms. At a minimum of the inner loss it equals differentiating the last `K + 1` gradient steps of size `1/c`.

    Finding the divisor costs no product: whatever it is, the first terms lie in the Krylov space of
    `v, Av, A^2 v, ...`, which also gives the largest eigenvalue that affects them.

    # Parameters

    divisor : `Union[float, str]`, optional (default = `"auto"`)
        `c`, above 0; best at the largest eigenvalue or a little more. `"auto"`: for each solve, 1.1 times the largest
        eigenvalue in the Krylov space of the first terms; the factor is there because this estimate comes from below.
    max_steps : `int`, optional (default = `20`)
        `K`, at least 0: one product each.
    lanczos_steps : `int`, optional (default = `10`)
        With `"auto"`, the maximum number of products before the divisor is chosen; at least 1. They are the products
        of the first terms; with `K = 0`, there is one for the divisor alone. As many vectors, and one more, are kept
        in memory.
    stop_at_divergence : `bool`, optional (default = `True`)
        Keep the sum from before the terms began to grow, since once they do they always will. Otherwise all `K` terms
        are summed.
    damping, tolerance, measure_residual :
        As for `InverseHessianVector`.
    relative_damping : `float`, optional (default = `0.0`)
        With `"auto"`, the damping follows the curvature: each solve raises it until every eigenvalue in the Krylov
        space, with it, is at least this share of the largest in size; from 0 to below 1.
    """

    _fewest_steps = 0

    def __init__(
        self,
        divisor: Union[float, str] = "auto",
        damping: float = 0.0,
        tolerance: float = 1e-4,
        max_steps: int = 20,
        lanczos_steps: int = 10,
        stop_at_divergence: bool = True,
        measure_residual: bool = True,
        relative_damping: float = 0.0,
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)
        if divisor != "auto":
            if isinstance(divisor, str):
                raise ConfigurationError(f"solver.divisor must be a number or 'auto', found {divisor!r}.")
            check_range("solver.divisor", divisor, above=0)
        check_range("solver.lanczos_steps", lanczos_steps, least=1)
        check_range("solver.relative_damping", relative_damping, least=0, below=1)
        if relative_damping > 0 and divisor != "auto":
            raise ConfigurationError("solver.relative_damping: it follows the eigenvalues met; set divisor to 'auto'.")
        self.relative_damping = relative_damping
        self.divisor, self.lanczos_steps, self.stop_at_divergence = divisor, lanczos_steps, stop_at_divergence

    def _solve(self, system: System) -> Optional[str]:
        if not isinstance(self.divisor, str):
            series = _Series(system.rhs.clone(), self.divisor)
            system.iterate = series.total
            self._extend(series, system, system.damped_product, self.max_steps)
            return series.advice
        space = krylov_space(system, max(1, min(self.max_steps, self.lanczos_steps)))
        eigenvalues = space.eigenvalues()
        system.note_curvature(*eigenvalues[[0, -1]].tolist())
        system.follow_curvature(self.relative_damping)
        damping = system.damping
        # Without any curvature, any divisor will do.
        divisor = 1.1 * float((eigenvalues + damping).abs().max()) or 1.0
        start = torch.zeros(len(space.matrix), dtype=torch.double)
        start[0] = system.rhs_norm
        series = _Series(start, divisor)
        inside = self.max_steps if space.closed else min(self.max_steps, space.degree)
        self._extend(series, system, lambda vector: space.matrix.mv(vector) + damping * vector, inside)
        system.iterate = series.total = space.lift(series.total)
        if not series.ended and system.steps < self.max_steps:
            series.term = space.lift(series.term)
            del space
            self._extend(series, system, system.damped_product, self.max_steps)
        return series.advice

    def _extend(
        self, series: "_Series", system: System, product: Callable[[torch.Tensor], torch.Tensor], last_step: int
    ) -> None:
        """Adds terms up to step `last_step`, or until they are small enough or grow."""
        # The slack is for rounding. The terms' norms are convex in the step, as the matrix is symmetric.
        slack = 1 + 100 * torch.finfo(system.rhs.dtype).eps
        norm = norm_of(series.term)
        while system.steps < last_step and not series.ended:
            series.term = series.term.add(product(series.term), alpha=-1 / series.divisor)
            last, norm = norm, norm_of(series.term)
            if norm > last * slack:
                series.advice = self._divergence(system, series.divisor)
                series.ended = self.stop_at_divergence
                if series.ended:
                    break
            series.total.add_(series.term, alpha=1 / series.divisor)
            system.steps += 1
            # `term` is the residual from before it was added.
            series.ended = norm <= self.tolerance * system.rhs_norm

    def _divergence(self, system: System, divisor: float) -> str:
        place = f"the terms grow at step {system.steps + 1}"
        if system.least + system.damping < 0:
            return (
                f"{place} by negative curvature ({system.least:.3g}): raise damping (now {self.damping:g}) above "
                f"{-system.least:.3g}, or take the inner loss nearer to its minimum"
            )
        if system.most + system.damping > divisor:
            return (
                f"{place}: the divisor {divisor:.3g} is below half the largest eigenvalue (at least "
                f"{system.most + system.damping:.3g}); raise it above that, or set 'auto'"
            )
        return f"{place}: an eigenvalue lies outside (0, {2 * divisor:.3g}); raise the divisor or damping"

    def _advice(self, system: System) -> str:
        return f"raise max_steps (now {self.max_steps}) or damping (now {self.damping:g}), or take 'conjugate_gradient'"


class _Series:
    """
    The present term, and the sum so far divided by `c`, which is updated in place; both are vectors, or their
    coordinates in a Krylov space.
    """

    def __init__(self, first: torch.Tensor, divisor: float) -> None:
        self.term, self.divisor = first, divisor
        self.total = first / divisor
        self.ended = False
        self.advice: Optional[str] = None


@InverseHessianVector.register("identity")
class ScaledIdentity(InverseHessianVector):
    """
    `q = v / c`: the Neumann series with `K = 0`, as a baseline without Hessian-vector products, except the one that
    measures the residual. It is not in the implicit-training paper.

    # Parameters

    divisor : `float`, optional (default = `1.0`)
        `c`, above 0.
    damping : `float`, optional (default = `0.0`)
        Affects only the residual.
    tolerance, max_steps, measure_residual :
        As for `InverseHessianVector`; it takes no steps.
    """

    _fewest_steps = 0

    def __init__(
        self,
        divisor: float = 1.0,
        damping: float = 0.0,
        tolerance: float = 1e-4,
        max_steps: int = 0,
        measure_residual: bool = True,
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)
        check_range("solver.divisor", divisor, above=0)
        self.divisor = divisor

    def _solve(self, system: System) -> Optional[str]:
        system.iterate = system.rhs / self.divisor
        return None

    def _advice(self, system: System) -> str:
        return f"the Hessian is not {self.divisor:g} times the identity; take 'neumann' or 'conjugate_gradient'"
