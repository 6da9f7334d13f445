"""
Solvers that invert the Hessian or an approximation of it in closed form: exact, diagonal, low-rank and Fisher-type.
"""

from collections.abc import Callable, Iterable
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
        system.note_curvature(*(value - self.damping for value in eigenvalues[[0, -1]].tolist()))
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


@InverseHessianVector.register("nystroem")
class NystroemInverse(InverseHessianVector):
    """
    A low-rank Hessian from a few random directions, inverted in closed form (Nystroem's method; Frangella, Tropp and
    Udell 2021; for hypergradients Hataya and Yamada 2023). It is not in the implicit-training paper. With `k`
    orthonormal random columns `W` and `Y = H W`,

        H ~ Y (W^T Y)^+ Y^T = U diag(l) U^T,
        q = U (l + damping)^-1 U^T v + (v - U U^T v) / damping

    Exact if `k` reaches the rank of `H`. It needs curvature that is not negative; directions of negative curvature
    count as flat, and the status reports them.

    # Parameters

    damping : `float`, optional (default = `0.01`)
        With 0, the solution has no part outside the `k` directions.
    max_steps : `int`, optional (default = `20`)
        `k`, one product each; `2 k` vectors are kept in memory.
    tolerance, measure_residual :
        As for `InverseHessianVector`.
    """

    def __init__(
        self, damping: float = 0.01, tolerance: float = 1e-4, max_steps: int = 20, measure_residual: bool = True
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)

    def _solve(self, system: System) -> Optional[str]:
        rhs, size = system.rhs, len(system.rhs)
        rank = min(self.max_steps, size)
        # shape: (size, rank)
        columns = torch.linalg.qr(system.curvature.normal(rank).to(rhs).T).Q
        images = torch.stack([system.damped_product(column) for column in columns.T], dim=1)
        images = images - self.damping * columns
        core = columns.T @ images
        values, vectors = torch.linalg.eigh((core + core.T) / 2)
        floor = rank * torch.finfo(rhs.dtype).eps * values.abs().max()
        curved = values > floor
        factor = images @ (vectors[:, curved] / values[curved].sqrt())
        basis, roots, _ = torch.linalg.svd(factor, full_matrices=False)
        inside = basis.T.mv(rhs)
        system.iterate = basis.mv(inside / (roots.square() + self.damping))
        if self.damping > 0:
            outside = rhs - basis.mv(inside)
            system.iterate = system.iterate + outside / self.damping
        system.steps = rank
        system.note_curvature(*values[[0, -1]].tolist())
        if values[0] < -floor:
            return (
                f"negative curvature ({float(values[0]):.3g}) met in {rank} directions, which counts as none: "
                "take more inner steps, or 'exact' for a small net"
            )
        return None

    def _advice(self, system: System) -> str:
        return (
            f"{system.steps} of {len(system.rhs)} directions are too few; raise max_steps (now {self.max_steps}) "
            f"or damping (now {self.damping:g}), or take 'conjugate_gradient'"
        )


@InverseHessianVector.register("sherman_morrison")
class ShermanMorrison(InverseHessianVector):
    """
    Approximates `H + damping I` by `damping I + sum_i g_i g_i^T`, with the gradient `g_i` of each example's loss (a
    Fisher-type curvature), and inverts that one example at a time (implicit-training paper, Remark 5):

        u_i = B_{i-1} g_i,   B_i = B_{i-1} - u_i u_i^T / (1 + g_i . u_i),   B_0 = I / damping

    `B_n v` needs only the `u_i`, `(examples, size)` of memory, and no Hessian-vector product. Measuring the residual
    takes one, with the true Hessian.

    # Parameters

    damping : `float`, optional (default = `1.0`)
        Above 0, as `B_0` divides by it.
    average : `bool`, optional (default = `True`)
        Whether the inner loss is the mean over examples: then the sum is divided by their number.
        If not, the inner loss is the sum of the examples' losses.
    max_steps : `int`, optional (default = `1024`)
        The maximum number of examples; later ones are left out.
    tolerance, measure_residual :
        As for `InverseHessianVector`.
    """

    needs_examples = True

    def __init__(
        self,
        damping: float = 1.0,
        average: bool = True,
        tolerance: float = 1e-4,
        max_steps: int = 1024,
        measure_residual: bool = True,
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)
        if damping == 0:
            raise ConfigurationError("solver.damping: above 0 for 'sherman_morrison', which divides by it.")
        self.average = average

    def _solve(self, system: System) -> Optional[str]:
        if system.curvature.example_gradients is None:
            raise ConfigurationError(
                "solver: 'sherman_morrison' needs the loss of each example (example_losses); take another solver "
                "where there is none."
            )
        gradients = system.curvature.example_gradients().to(system.rhs.dtype)
        found = len(gradients)
        gradients = gradients[: self.max_steps]
        if self.average:
            gradients = gradients / len(gradients) ** 0.5
        # shape of both: (examples, size), (examples,)
        updates, divisors = torch.zeros_like(gradients), gradients.new_ones(len(gradients))

        def apply(vector: torch.Tensor, count: int) -> torch.Tensor:
            seen = updates[:count]
            return vector / self.damping - seen.T.mv(seen.mv(vector) / divisors[:count])

        for index, gradient in enumerate(gradients):
            updates[index] = apply(gradient, index)
            divisors[index] = 1 + gradient.dot(updates[index])
        system.iterate = apply(system.rhs, len(gradients))
        system.steps = len(gradients)
        if found > len(gradients):
            return f"{found - len(gradients)} of {found} examples are left out: raise max_steps"
        return None

    def _advice(self, system: System) -> str:
        return (
            "the example gradients make another matrix than the Hessian; change damping "
            f"(now {self.damping:g}), or take 'conjugate_gradient'"
        )
