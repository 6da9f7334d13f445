from collections.abc import Callable, Iterable
from typing import Optional

import torch

from seal.hypergradients.solver import InverseHessianVector, System


def hutchinson_diagonal(
    product: Callable[[torch.Tensor], torch.Tensor], probes: Iterable[torch.Tensor]
) -> torch.Tensor:
    """
    The mean of `z * Hz` over sign vectors `z`, whose expectation is the diagonal of `H` (Hutchinson 1990; Bekas et
    al. 2007). Exact over all sign vectors, and over the rows of a Hadamard matrix.

    # Parameters

    product : `Callable[[torch.Tensor], torch.Tensor]`
        Maps `p` to `H p`.
    probes : `Iterable[torch.Tensor]`, each `(size,)`
        Vectors of -1 and 1; at least one.

    # Returns

    `torch.Tensor`, `(size,)`
    """
    total, count = torch.zeros(()), 0
    for probe in probes:
        total, count = total + probe * product(probe), count + 1
    return total / count


@InverseHessianVector.register("diagonal")
class DiagonalHessian(InverseHessianVector):
    """
    `q = v / (diag(H) + damping)`, with Hutchinson's estimate of the diagonal (implicit-training paper, Remark 5).
    Exact for a diagonal Hessian; otherwise cheap, with an error that the residual shows. The solution is 0 in elements
    whose divisor is not above 0.

    # Parameters

    max_steps : `int`, optional (default = `16`)
        The number of probes, one product each. If a power of two is at least the number of parameters and at most
        `max_steps`, that many probes are taken, and the estimate is exact.
    damping, tolerance, measure_residual :
        As for `InverseHessianVector`.
    """

    depends_on_basis = True

    def __init__(
        self, damping: float = 0.0, tolerance: float = 1e-4, max_steps: int = 16, measure_residual: bool = True
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)

    def _solve(self, system: System) -> Optional[str]:
        size, probes = len(system.rhs), 1
        while probes < size and probes < self.max_steps:
            probes *= 2
        if size <= probes <= self.max_steps:
            signs = iter(_hadamard(probes, system.rhs)[:, :size])
        else:
            probes = self.max_steps
            signs = (system.curvature.signs().to(system.rhs) for _ in range(probes))
        divisor = hutchinson_diagonal(system.damped_product, signs)
        floor = torch.finfo(divisor.dtype).eps * divisor.abs().max()
        usable = divisor > floor
        quotient = system.rhs / torch.where(usable, divisor, 1.0)
        system.iterate = torch.where(usable, quotient, 0.0)
        system.steps = probes
        lost = int((~usable).sum())
        if lost:
            return (
                f"{lost} of {size} diagonal elements are not above 0, where the solution is set to 0: raise "
                f"damping (now {self.damping:g}) or max_steps (now {self.max_steps})"
            )
        return None

    def _advice(self, system: System) -> str:
        return "so much lies off the diagonal or in too few probes; take 'conjugate_gradient' or 'nystroem'"


def _hadamard(size: int, like: torch.Tensor) -> torch.Tensor:
    """Sylvester's matrix of -1 and 1 with orthogonal columns, for a power of two: `(size, size)`."""
    matrix = like.new_ones(1, 1)
    while len(matrix) < size:
        matrix = torch.cat([torch.cat([matrix, matrix], dim=1), torch.cat([matrix, -matrix], dim=1)])
    return matrix
