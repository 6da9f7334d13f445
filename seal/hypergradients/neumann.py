from typing import Optional, Union

import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients.power_iteration import largest_eigenvalue
from seal.hypergradients.solver import InverseHessianVector, System


@InverseHessianVector.register("neumann")
class NeumannSeries(InverseHessianVector):
    """
    `q = (1/c) sum_{i=0..K} (I - A/c)^i v` with `A = H + damping I` and the divisor `c` (implicit-training paper,
    Appendix A, with the final `1/c` that is not printed there; IM6). It converges where every eigenvalue of `A`
    lies in (0, 2c); along one of `l`, what is missing after `K` terms is the fraction `(1 - l/c)^(K+1)`. At a
    minimum of the inner loss it equals differentiating the last `K + 1` gradient steps of size `1/c`.

    # Parameters

    divisor : `Union[float, str]`, optional (default = `"auto"`)
        `c`, above 0, best at the largest eigenvalue or a little more. `"auto"` takes 1.1 times a power
        iteration's estimate for each solve; 1.1 since the estimate comes from below.
    max_steps : `int`, optional (default = `20`)
        `K`, at least 0: one product each.
    power_steps : `int`, optional (default = `10`)
        The most products of the power iteration, with `"auto"`; at least 1.
    stop_at_divergence : `bool`, optional (default = `True`)
        Keep the sum from before the terms began to grow, which they do for ever once they do. Otherwise all
        `K` terms are summed.
    damping, tolerance, measure_residual
        As for `InverseHessianVector`.
    """

    _fewest_steps = 0

    def __init__(
        self,
        divisor: Union[float, str] = "auto",
        damping: float = 0.0,
        tolerance: float = 1e-4,
        max_steps: int = 20,
        power_steps: int = 10,
        stop_at_divergence: bool = True,
        measure_residual: bool = True,
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)
        if divisor != "auto" and (isinstance(divisor, str) or not 0 < divisor < float("inf")):
            raise ConfigurationError(f"solver.divisor: a number above 0 or 'auto', not {divisor!r}.")
        if power_steps < 1:
            raise ConfigurationError(f"solver.power_steps: at least 1, not {power_steps}.")
        self.divisor, self.power_steps, self.stop_at_divergence = divisor, power_steps, stop_at_divergence

    def _solve(self, system: System) -> Optional[str]:
        divisor = self.divisor
        if divisor == "auto":
            # No curvature at all leaves the choice free.
            divisor = 1.1 * largest_eigenvalue(system.product, system.rhs, self.power_steps) or 1.0
        term = system.rhs.clone()
        norm = system.rhs_norm
        system.iterate = term / divisor
        advice = None
        while system.steps < self.max_steps:
            term = term - system.product(term) / divisor
            last, norm = norm, float(torch.linalg.vector_norm(term))
            # Beyond rounding: of a symmetric matrix, the terms' norms are convex in their number.
            if norm > last * (1 + 100 * torch.finfo(term.dtype).eps):
                advice = self._divergence(system, divisor)
                if self.stop_at_divergence:
                    break
            system.iterate = system.iterate + term / divisor
            system.steps += 1
            # `term` is what was left before it was added.
            if norm <= self.tolerance * system.rhs_norm:
                break
        return advice

    def _divergence(self, system: System, divisor: float) -> str:
        place = f"the terms grow at step {system.steps + 1}"
        if system.least + self.damping < 0:
            return (
                f"{place} by negative curvature ({system.least:.3g}): raise damping (now {self.damping:g}) above "
                f"{-system.least:.3g}, or take the inner loss nearer to its minimum"
            )
        if system.most + self.damping > divisor:
            return (
                f"{place}: the divisor {divisor:.3g} is below half the largest eigenvalue (at least "
                f"{system.most + self.damping:.3g}); raise it above that, or set 'auto'"
            )
        return f"{place}: an eigenvalue lies outside (0, {2 * divisor:.3g}); raise the divisor or damping"

    def _advice(self, system: System) -> str:
        return (
            f"raise max_steps (now {self.max_steps}) or damping (now {self.damping:g}), or take "
            "'conjugate_gradient'"
        )
