from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import torch

from seal.hypergradients.solver import System


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
        beside.append(float(torch.linalg.vector_norm(following)))
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
