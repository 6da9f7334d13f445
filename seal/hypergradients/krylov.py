from dataclasses import dataclass
from typing import List

import torch

from seal.hypergradients.solver import System


@dataclass
class KrylovSpace:
    """
    What a symmetric matrix `A` does to a vector `v` in its first powers: an orthonormal basis `V` of
    `v, Av, A^2 v, ...` and the tridiagonal `T = V A V^T`, by Lanczos' recurrence. A polynomial of `A` applied to
    `v` is one of `T` applied to `|v| e_1`, which is small; the eigenvalues of `T` are the extremes of `A`'s as seen
    from `v`, the best that as many products can tell (Golub and Van Loan, Matrix Computations, 10.1).

    # Parameters

    basis : `torch.Tensor`, `(dimension, size)`
    matrix : `torch.Tensor`, `(dimension, dimension)`, float64 on the CPU
        `T`; its last diagonal element is 0 unless `closed`, as it would take another product.
    closed : `bool`
        That `A` leads nowhere out of it. Otherwise it holds polynomials of a degree below `dimension`.
    """

    basis: torch.Tensor
    matrix: torch.Tensor
    closed: bool

    @property
    def degree(self) -> int:
        """The products that it took."""
        return len(self.matrix) - (not self.closed)

    def eigenvalues(self) -> torch.Tensor:
        """Ritz values, rising: `(degree,)`."""
        return torch.linalg.eigvalsh(self.matrix[: self.degree, : self.degree])

    def lift(self, coordinates: torch.Tensor) -> torch.Tensor:
        """From coordinates in the basis, `(dimension,)`, to the vector, `(size,)`."""
        return coordinates.to(self.basis) @ self.basis


def krylov_space(system: System, products: int) -> KrylovSpace:
    """
    # Parameters

    system : `System`
        Its matrix without damping, from its right-hand side.
    products : `int`
        At least 1; fewer are taken where the space closes before.
    """
    basis = system.rhs.new_empty(products + 1, len(system.rhs))
    torch.div(system.rhs, system.rhs_norm, out=basis[0])
    diagonal: List[float] = []
    beside: List[float] = []
    closed = False
    while len(diagonal) < products and not closed:
        vector, following = basis[len(diagonal)], basis[len(diagonal) + 1]
        image, bend = system.image(vector, square=1.0)
        torch.add(image, vector, alpha=-bend, out=following)
        if beside:
            following.add_(basis[len(diagonal) - 1], alpha=-beside[-1])
        diagonal.append(bend)
        beside.append(float(torch.linalg.vector_norm(following)))
        # What rounding leaves of a vector that should be zero.
        scale = max(map(abs, [*diagonal, *beside]))
        closed = beside[-1] <= 100 * torch.finfo(vector.dtype).eps * scale
        if not closed:
            following.div_(beside[-1])
    if closed:
        beside.pop()
    else:
        diagonal.append(0.0)
    off = torch.tensor(beside, dtype=torch.double)
    matrix = torch.diag(torch.tensor(diagonal, dtype=torch.double)) + torch.diag(off, 1) + torch.diag(off, -1)
    return KrylovSpace(basis[: len(matrix)], matrix, closed)
