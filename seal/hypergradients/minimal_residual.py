from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.hypergradients.krylov import KrylovSpace, krylov_space
from seal.hypergradients.solver import InverseHessianVector, System


@InverseHessianVector.register("minres")
class MinimalResidual(InverseHessianVector):
    """
    The `q` of least residual `|(H + damping I) q - v|` in the Krylov space of `v`, and the shortest of these: the
    iterates of MINRES (Paige and Saunders 1975), and of MINRES-QLP (Choi, Paige and Saunders 2011) where the matrix is
    singular. The curvature may have any sign, or none: then the solution tends to that of the pseudo-inverse, which is
    0 in directions without curvature. More steps never make the residual larger, so it is at most 1.

    The space is kept, `max_steps + 1` vectors of memory, so that the solution is that of a small least-squares problem.

    # Parameters

    max_steps : `int`, optional (default = `20`)
        The maximum number of steps, one product each; stopping early regularises.
    damping, tolerance, measure_residual :
        As for `InverseHessianVector`.
    relative_damping : `float`, optional (default = `0.0`)
        The damping follows the curvature: each solve raises it until every eigenvalue in the Krylov space, with it, is
        at least this share of the largest in size; from 0 to below 1.
    """

    def __init__(
        self,
        damping: float = 0.0,
        tolerance: float = 1e-4,
        max_steps: int = 20,
        measure_residual: bool = True,
        relative_damping: float = 0.0,
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)
        check_range("solver.relative_damping", relative_damping, least=0, below=1)
        self.relative_damping = relative_damping

    def _solve(self, system: System) -> Optional[str]:
        precision = 100 * torch.finfo(system.rhs.dtype).eps

        def is_solved(space: KrylovSpace) -> bool:
            matrix, rhs = self._projected(space, system)
            return float(torch.linalg.vector_norm(rhs - matrix @ _shortest(matrix, rhs, precision))) <= goal

        goal = self.tolerance * system.rhs_norm
        space = krylov_space(system, self.max_steps, is_solved)
        matrix, rhs = self._projected(space, system)
        coordinates = _shortest(matrix, rhs, precision)
        system.iterate = coordinates.to(space.basis) @ space.basis[: space.degree]
        system.steps = space.degree
        left = float(torch.linalg.vector_norm(rhs - matrix @ coordinates)) / system.rhs_norm
        if space.closed and left > max(self.tolerance, precision):
            return (
                f"a fraction of {left:.1e} of the right-hand side lies where there is no curvature, and is left out: "
                f"raise damping (now {self.damping:g}) to count it"
            )
        return None

    def _projected(self, space: KrylovSpace, system: System):
        """The matrix from the first `degree` vectors to the space, `(dimension, degree)`, and the right-hand side."""
        matrix = space.matrix[:, : space.degree].clone()
        if self.relative_damping > 0:
            eigenvalues = space.eigenvalues()
            system.note_curvature(float(eigenvalues[0]))
            system.note_curvature(float(eigenvalues[-1]))
            system.follow_curvature(self.relative_damping)
        matrix.diagonal().add_(system.damping)
        rhs = matrix.new_zeros(len(matrix))
        rhs[0] = system.rhs_norm
        return matrix, rhs


def _shortest(matrix: torch.Tensor, rhs: torch.Tensor, precision: float) -> torch.Tensor:
    """The shortest solution of the least-squares problem; singular values that are rounding count as 0."""
    return torch.linalg.pinv(matrix, rtol=precision) @ rhs
