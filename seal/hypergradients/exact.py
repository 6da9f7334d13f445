from typing import Optional

import torch

from seal.hypergradients.solver import InverseHessianVector, System
from seal.registry import ConfigurationError


@InverseHessianVector.register("exact")
class ExactInverse(InverseHessianVector):
    """
    Forms the Hessian, by one product per parameter, and divides by its eigenvalues: for small problems, and as a
    reference for the other solvers. Negative eigenvalues are inverted as they are; in directions without curvature the
    solution is 0 (pseudo-inverse). The status reports such eigenvalues and directions.

    # Parameters

    max_steps : `int`, optional (default = `2000`)
        The maximum number of parameters: memory grows with their square, time with their cube.
    damping, tolerance, measure_residual :
        As for `InverseHessianVector`.

    # Raises

    `ConfigurationError`, when solving, for more parameters.
    """

    def __init__(
        self, damping: float = 0.0, tolerance: float = 1e-4, max_steps: int = 2000, measure_residual: bool = True
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)

    def _solve(self, system: System) -> Optional[str]:
        size = len(system.rhs)
        if size > self.max_steps:
            raise ConfigurationError(
                f"solver: 'exact' writes out at most max_steps = {self.max_steps} parameters squared, not {size}; "
                "take 'conjugate_gradient'."
            )
        units = torch.eye(size, dtype=system.rhs.dtype, device=system.rhs.device)
        matrix = torch.stack([system.damped_product(unit) for unit in units])
        eigenvalues, eigenvectors = torch.linalg.eigh((matrix + matrix.T) / 2)
        system.note_curvature(float(eigenvalues[0]) - self.damping)
        system.note_curvature(float(eigenvalues[-1]) - self.damping)
        floor = size * torch.finfo(matrix.dtype).eps * eigenvalues.abs().max()
        curved = eigenvalues.abs() > floor
        inverse = torch.where(curved, 1 / torch.where(curved, eigenvalues, 1.0), 0.0)
        system.iterate = eigenvectors.mv(inverse * eigenvectors.T.mv(system.rhs))
        system.steps = size
        flat, negative = int((~curved).sum()), int((eigenvalues < -floor).sum())
        if flat:
            return f"{flat} of {size} directions have no curvature and get nothing: raise damping"
        if negative:
            return (
                f"{negative} of {size} eigenvalues are negative, so the inner loss is not at a minimum: take more "
                f"inner steps, or raise damping (now {self.damping:g}) above {-system.least:.3g}"
            )
        return None
