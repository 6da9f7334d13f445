"""Solvers that search a Krylov space: conjugate gradients and MINRES."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.hypergradients.solver import InverseHessianVector, System, norm_of


@dataclass
class KrylovSpace:
    """
    The Krylov space of a symmetric matrix `A` and a vector `v`: an orthonormal basis `V` of `v, Av, A^2 v, ...` and
    the tridiagonal `T = V A V^T`, by Lanczos' recurrence. A polynomial of `A` applied to `v` is the same polynomial of
    `T`, which is small, applied to `|v| e_1`. The extreme eigenvalues of `T` are estimates of those of `A`, as far as
    `v` has components along them, and the best that as many products can give (Golub and Van Loan, Matrix
    Computations, 10.1).

    # Parameters

    basis : `torch.Tensor`, `(dimension, size)`
    matrix : `torch.Tensor`, `(dimension, dimension)`, float64 on the CPU
        `T`; its last diagonal element is 0 unless `closed`, as that element would take another product.
    closed : `bool`
        Whether `A` maps the space into itself. If not, it has `p(A) v` only for polynomials `p` of a degree below
        `dimension`.
    """

    basis: torch.Tensor
    matrix: torch.Tensor
    closed: bool

    @property
    def degree(self) -> int:
        """The number of products that it took."""
        return len(self.matrix) - (not self.closed)

    def eigenvalues(self) -> torch.Tensor:
        """The Ritz values in ascending order: `(degree,)`."""
        return torch.linalg.eigvalsh(self.matrix[: self.degree, : self.degree])

    def lift(self, coordinates: torch.Tensor) -> torch.Tensor:
        """From coordinates in the basis, `(dimension,)`, to the vector, `(size,)`."""
        return coordinates.to(self.basis) @ self.basis


def krylov_space(
    system: System, products: int, is_enough: Optional[Callable[[KrylovSpace], bool]] = None
) -> KrylovSpace:
    """
    # Parameters

    system : `System`
        `A` is its matrix without damping, `v` its right-hand side.
    products : `int`
        The maximum number of products, at least 1; fewer are taken if the space closes earlier.
    is_enough : `Callable[[KrylovSpace], bool]`, optional
        Asked after each product whether to stop. With it, each new vector is made orthogonal to all others once more,
        since many products lose that.
    """
    basis = system.rhs.new_empty(products + 1, len(system.rhs))
    torch.div(system.rhs, system.rhs_norm, out=basis[0])
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        vector, following = basis[len(diagonal)], basis[len(diagonal) + 1]
        image, curvature = system.hessian_product(vector, square=1.0)
        torch.add(image, vector, alpha=-curvature, out=following)
        if beside:
            following.add_(basis[len(diagonal) - 1], alpha=-beside[-1])
        diagonal.append(curvature)
        if is_enough is not None:
            others = basis[: len(diagonal)]
            following.sub_(others.mv(following) @ others)
        beside.append(norm_of(following))
        # Such a norm is what rounding leaves of a vector that should be zero.
        scale = max(map(abs, [*diagonal, *beside]))
        closed = beside[-1] <= 100 * torch.finfo(vector.dtype).eps * scale
        if not closed:
            following.div_(beside[-1])
        space = _space(basis, diagonal, beside, closed)
        if closed or len(diagonal) == products or (is_enough is not None and is_enough(space)):
            return space


def _space(basis: torch.Tensor, diagonal: list[float], beside: list[float], closed: bool) -> KrylovSpace:
    if closed:
        beside = beside[:-1]
    else:
        diagonal = [*diagonal, 0.0]
    off = torch.tensor(beside, dtype=torch.double)
    matrix = torch.diag(torch.tensor(diagonal, dtype=torch.double)) + torch.diag(off, 1) + torch.diag(off, -1)
    return KrylovSpace(basis[: len(matrix)], matrix, closed)


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
            return norm_of(rhs - matrix @ _shortest(matrix, rhs, precision)) <= goal

        goal = self.tolerance * system.rhs_norm
        space = krylov_space(system, self.max_steps, is_solved)
        matrix, rhs = self._projected(space, system)
        coordinates = _shortest(matrix, rhs, precision)
        system.iterate = coordinates.to(space.basis) @ space.basis[: space.degree]
        system.steps = space.degree
        left = norm_of(rhs - matrix @ coordinates) / system.rhs_norm
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
            system.note_curvature(*eigenvalues[[0, -1]].tolist())
            system.follow_curvature(self.relative_damping)
        matrix.diagonal().add_(system.damping)
        rhs = matrix.new_zeros(len(matrix))
        rhs[0] = system.rhs_norm
        return matrix, rhs


def _shortest(matrix: torch.Tensor, rhs: torch.Tensor, precision: float) -> torch.Tensor:
    """The shortest solution of the least-squares problem; singular values that are rounding count as 0."""
    return torch.linalg.pinv(matrix, rtol=precision) @ rhs
