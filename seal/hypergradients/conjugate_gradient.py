from typing import Optional

import torch

from seal.hypergradients.solver import InverseHessianVector, System


@InverseHessianVector.register("conjugate_gradient")
class ConjugateGradient(InverseHessianVector):
    """
    Conjugate gradients on `(H + damping I) q = v` (Hestenes and Stiefel 1952; implicit-training paper, Remark 5).
    Exact, up to rounding, in at most as many steps as there are distinct eigenvalues. It needs positive curvature, and
    stops where it meets any other; `minres` needs none. The solution is the iterate of least residual, zeros included:
    a step along a direction with almost no curvature goes very far.

    The recursion's residual drifts from the true one. Once it is small enough, the true residual is computed; if that
    is still too large, the method restarts from the current iterate.

    # Parameters

    max_steps : `int`, optional (default = `20`)
        The maximum number of steps, one product each; stopping early regularises.
    damping, tolerance, measure_residual :
        As for `InverseHessianVector`; where it converges, the residual is measured in any case.
    """

    def __init__(
        self, damping: float = 0.0, tolerance: float = 1e-4, max_steps: int = 20, measure_residual: bool = True
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)

    def _solve(self, system: System) -> Optional[str]:
        precision = torch.finfo(system.rhs.dtype).eps
        # What rounding makes of a curvature that should be zero.
        rounding = 100 * precision
        goal = max(self.tolerance, precision) * system.rhs_norm
        point, residual = system.iterate, system.rhs.clone()
        direction = residual.clone()
        square = float(residual.dot(residual))
        least, checked, best = system.rhs_norm, float("inf"), point
        while system.steps < self.max_steps:
            image = system.damped_product(direction)
            curvature, length = float(direction.dot(image)), float(direction.dot(direction))
            largest = abs(system.most) + self.damping
            if curvature <= rounding * length * largest:
                return self._no_minimum(system, curvature / length, largest)
            point = point.add(direction, alpha=square / curvature)
            system.steps += 1
            residual = residual.sub(image, alpha=square / curvature)
            last, square = square, float(residual.dot(residual))
            if square**0.5 < least:
                least, system.iterate, system.residual = square**0.5, point, None
            if square**0.5 <= goal:
                residual = system.measure()
                square = float(residual.dot(residual))
                if square**0.5 <= goal:
                    return None
                if square**0.5 > checked / 2:
                    if square**0.5 > checked:
                        system.iterate, system.residual = best, checked / system.rhs_norm
                    return self._rounding(system)
                least = checked = square**0.5
                best, direction = point, residual.clone()
            else:
                direction = residual.add(direction, alpha=square / last)
        return None

    def _no_minimum(self, system: System, curvature: float, largest: float) -> str:
        step = system.steps + 1
        if curvature < -torch.finfo(system.rhs.dtype).eps * largest:
            return (
                f"negative curvature ({curvature - self.damping:.3g}) met at step {step}: raise damping (now "
                f"{self.damping:g}) above {self.damping - curvature:.3g}, take more inner steps first, or the solver "
                "'minres'"
            )
        return f"no curvature met at step {step}: raise damping (now {self.damping:g}), or take the solver 'minres'"

    def _rounding(self, system: System) -> Optional[str]:
        if system.residual is None or system.residual <= self.tolerance:
            return None
        return (
            f"rounding ends it at a relative residual of {system.residual:.1e} after {system.steps} steps: raise "
            f"damping (now {self.damping:g}), tolerance or precision"
        )
