"""The base class of solvers of `(H + damping I) q = v`, their input and their result."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Optional

import torch

from seal.common.setting_checks import check_range
from seal.registry import Registrable


@dataclass
class Curvature:
    """
    A symmetric matrix `H`, `(size, size)`, that a solver knows by its products with vectors; it is never formed.

    # Parameters

    product : `Callable[[torch.Tensor], torch.Tensor]`
        Maps `p`, `(size,)`, to `H p`, `(size,)`.
    size : `int`
    dtype : `torch.dtype`
    device : `torch.device`
    example_gradients : `Callable[[], torch.Tensor]`, optional
        Returns the gradient of each example's loss, `(examples, size)`; only `sherman_morrison` needs it.
    generator : `torch.Generator`, optional
        Draws the random vectors of `diagonal` and `nystroem`; `None`: torch's own generator. All replicas must draw the
        same vectors.
    """

    product: Callable[[torch.Tensor], torch.Tensor]
    size: int
    dtype: torch.dtype = torch.float32
    device: torch.device = torch.device("cpu")
    example_gradients: Optional[Callable[[], torch.Tensor]] = None
    generator: Optional[torch.Generator] = None

    @classmethod
    def of_matrix(cls, matrix: torch.Tensor, **others) -> "Curvature":
        """The curvature of a given matrix, `(size, size)`: for small problems and tests."""
        return cls(matrix.mv, len(matrix), matrix.dtype, matrix.device, **others)

    def scaled(self, scale: torch.Tensor) -> "Curvature":
        """`S H S` with `S = diag(scale)`, `(size,)`."""
        rows = self.example_gradients
        return replace(
            self,
            product=lambda vector: scale * self.product(scale * vector),
            example_gradients=None if rows is None else lambda: rows() * scale,
        )

    def normal(self, rows: int) -> torch.Tensor:
        """Independent normal draws: `(rows, size)`."""
        device = self.device if self.generator is None else self.generator.device
        shape = (rows, self.size)
        return torch.randn(shape, generator=self.generator, dtype=self.dtype, device=device).to(self.device)

    def signs(self) -> torch.Tensor:
        """Independent draws of -1 or 1, each as likely: `(size,)`."""
        return torch.where(self.normal(1)[0] < 0, -1.0, 1.0).to(self.dtype)


@dataclass
class Solution:
    """
    The result of a solver for `(H + damping I) q = v`.

    # Parameters

    solution : `torch.Tensor`, `(size,)`
        `q`, always finite.
    residual : `float`, optional
        `|(H + damping I) q - v| / |v|`, from a product with `q`; 0 if `v` is 0. `None` if `measure_residual` is false,
        or a product was not finite.
    steps : `int`
        The number of series terms, conjugate-gradient steps, probes, columns or examples in `solution`.
    converged : `bool`
        Whether the residual is measured and at most `tolerance`.
    status : `str`
        One sentence; if the solver did not converge, it says what to change.
    curvature : `tuple[float, float]`, optional
        The least and the greatest `p.Hp / p.p` of all directions `p` so far, without damping. Both lie within the range
        of the eigenvalues. A solver that computes eigenvalues returns the extreme ones.
    products : `int`
        The number of Hessian-vector products, including that of the measured residual.
    has_problem : `bool`, optional (default = `False`)
        Whether `status` describes a problem other than too few steps: growing terms, curvature that is not positive, or
        products that are not finite. It does not depend on a measured residual.
    damping : `float`, optional (default = `0.0`)
        The damping of the solved system: the solver's setting, or more if it follows the curvature.
    """

    solution: torch.Tensor
    residual: Optional[float]
    steps: int
    converged: bool
    status: str
    curvature: Optional[tuple[float, float]]
    products: int
    has_problem: bool = False
    damping: float = 0.0


def norm_of(flat: torch.Tensor) -> float:
    """The Euclidean norm; NaN or infinite if an element is."""
    return float(torch.linalg.vector_norm(flat))


def max_abs(flat: torch.Tensor) -> float:
    """
    The largest absolute value; NaN or infinite if an element is. Several times faster than `isfinite(flat).all()`.
    """
    if not len(flat):
        return 0.0
    least, most = torch.stack(torch.aminmax(flat)).tolist()
    return max(-least, most)


class _NotFinite(Exception):
    """A product has an element that is NaN or infinite."""


class System:
    """
    The system `(H + damping I) q = v` while it is being solved. A solver writes its progress into it, so that there is
    an iterate whatever ends the solve.
    """

    def __init__(self, curvature: Curvature, damping: float, rhs: torch.Tensor) -> None:
        self.curvature, self.damping, self.rhs = curvature, damping, rhs
        self.rhs_norm = norm_of(rhs)
        self.iterate = torch.zeros_like(rhs)
        self.steps = self.products = 0
        self.least, self.most = math.inf, -math.inf
        self.residual: Optional[float] = None
        #: Whether all products so far were zero vectors.
        self.flat = True

    def damped_product(self, vector: torch.Tensor) -> torch.Tensor:
        """`(H + damping I) p`; records `p.Hp / p.p`."""
        image, _ = self.hessian_product(vector)
        return image.add(vector, alpha=self.damping) if self.damping else image

    def hessian_product(self, vector: torch.Tensor, square: Optional[float] = None) -> tuple[torch.Tensor, float]:
        """`H p` and `p.Hp / p.p`, which it records; `square` is `p.p`, if that is known."""
        image = self.curvature.product(vector)
        self.products += 1
        if square is None:
            # Read together, since each reading waits for a GPU.
            dot, square = torch.stack([vector.dot(image), vector.dot(vector)]).tolist()
        else:
            dot = float(vector.dot(image))
        # This detects every element that is not finite, since even 0 times such an element is NaN.
        if not math.isfinite(dot):
            self.flat = False
            raise _NotFinite
        quotient = dot / square if square > 0 else 0.0
        if square > 0:
            self.note_curvature(quotient)
            self.flat = self.flat and dot == 0 and not bool(image.any())
        return image, quotient

    def follow_curvature(self, relative: float) -> None:
        """
        Raises the damping so that every curvature met, with it, is at least this share of the largest in size.
        """
        if relative > 0 and self.least <= self.most:
            largest = max(abs(self.least), abs(self.most))
            self.damping = max(self.damping, relative * largest - self.least)

    def note_curvature(self, *quotients: float) -> None:
        self.least, self.most = min(self.least, *quotients), max(self.most, *quotients)

    def measure(self) -> torch.Tensor:
        """`v - (H + damping I) q` of the present iterate `q`, whose relative norm it records in `residual`."""
        remainder = self.rhs - self.damped_product(self.iterate) if max_abs(self.iterate) else self.rhs.clone()
        self.residual = norm_of(remainder) / self.rhs_norm
        return remainder


class InverseHessianVector(Registrable):
    """
    `q = (H + damping I)^-1 v`: the inverse-Hessian-vector product of the implicit gradient (implicit-training paper,
    Appendix A and Remark 5). All solvers have these settings.

    # Parameters

    damping : `float`, optional (default = `0.0`)
        Added to every eigenvalue; at least 0. A network's loss is seldom convex; then a solver that needs positive
        curvature needs damping above 0.
    tolerance : `float`, optional (default = `1e-4`)
        The relative residual that counts as converged and ends an iteration; at least 0.
    max_steps : `int`, optional
        The maximum number of steps, each about one Hessian-vector product.
    measure_residual : `bool`, optional (default = `True`)
        Take one more product to measure the residual. Without it, solvers whose iteration does not give the residual
        never count as converged.

    # Raises

    `ConfigurationError` for a value outside these ranges.
    """

    #: Whether the solution depends on the orthonormal basis of the system.
    depends_on_basis = False
    #: Whether the solver needs the gradient of each example's loss.
    needs_examples = False
    #: The smallest valid `max_steps`.
    _fewest_steps = 1

    def __init__(
        self, damping: float = 0.0, tolerance: float = 1e-4, max_steps: int = 20, measure_residual: bool = True
    ) -> None:
        for name, value in (("damping", damping), ("tolerance", tolerance)):
            check_range(f"solver.{name}", value, least=0)
        check_range("solver.max_steps", max_steps, least=self._fewest_steps)
        self.damping, self.tolerance, self.max_steps = damping, tolerance, max_steps
        self.measure_residual = measure_residual

    def solve(self, curvature: Curvature, rhs: torch.Tensor, start: Optional[torch.Tensor] = None) -> Solution:
        """
        Solves `(H + damping I) q = v`.

        # Parameters

        curvature : `Curvature`
            `H`, `(size, size)`.
        rhs : `torch.Tensor`, `(size,)`
            `v`.
        start : `torch.Tensor`, `(size,)`, optional
            A guess of `q`, such as the solution of a similar system. If its residual is below 1, the solver solves
            `(H + damping I) d = v - (H + damping I) start` instead. This takes one more product.

        # Returns

        solution : `Solution`
            Zeros after 0 steps if `v` is zero; the present iterate if a product is not finite.
        """
        rhs = rhs.detach()
        scale = max_abs(rhs)
        if not math.isfinite(scale):
            status = "the right-hand side is not finite: look for a NaN in the outer loss's gradient"
            return Solution(torch.zeros_like(rhs), None, 0, False, status, None, 0, has_problem=True)
        if scale == 0:
            return Solution(rhs.clone(), 0.0, 0, True, "the right-hand side is zero", None, 0)
        # Scaled, as the squares of a small gradient would underflow in float32.
        system, known = System(curvature, self.damping, rhs / scale), 1.0
        if start is not None:
            start = start.detach() / scale
            system, known = self._started(system, start)
            if known <= self.tolerance:
                status, products = "the start solves it", system.products
                return Solution(start * scale, known, 0, True, status, None, products, damping=self.damping)
        problem = self._iterated(system)
        if start is not None and known < 1:
            system.iterate = system.iterate + start
            system.residual = None if system.residual is None else known * system.residual
        return self._solution(system, scale, problem)

    def _iterated(self, system: System) -> Optional[str]:
        """Iterates while products are finite, and measures the residual. Returns a sentence if there is a problem."""
        try:
            problem = self._solve(system)
            if self.measure_residual and system.residual is None:
                system.measure()
        except _NotFinite:
            return (
                f"a Hessian-vector product is not finite at step {system.steps + 1}: lower the inner learning "
                "rate, or raise the precision"
            )
        return problem

    def _solution(self, system: System, scale: float, problem: Optional[str]) -> Solution:
        """Makes the solution from the final iterate, for a right-hand side that is `scale` times the system's."""
        solution = system.iterate * scale
        if not math.isfinite(max_abs(solution)):
            solution, system.residual, system.steps = torch.zeros_like(solution), None, 0
            problem = "the solution grew out of range, so it is taken as zero: raise damping"
        if system.products and system.flat:
            problem = (
                "every Hessian-vector product is zero, so second derivatives vanish: take smooth activations "
                "(softplus, tanh, GELU) in place of ReLU, or a loss that is not linear"
            )
        converged = system.residual is not None and system.residual <= self.tolerance
        return Solution(
            solution,
            system.residual,
            system.steps,
            converged,
            self._summary(system, converged) if problem is None else problem,
            (system.least, system.most) if system.least <= system.most else None,
            system.products,
            has_problem=problem is not None,
            damping=system.damping,
        )

    def _started(self, system: System, start: torch.Tensor) -> tuple[System, float]:
        """The system for the residual of `start`, and its share of the right-hand side; or the system itself, and 1."""
        if not 0 < max_abs(start) < math.inf:
            return system, 1.0
        try:
            left = system.rhs - system.damped_product(start)
        except _NotFinite:
            return system, 1.0
        share = norm_of(left) / system.rhs_norm
        if not share < 1:
            return system, 1.0
        started = System(system.curvature, system.damping, left)
        started.products, started.flat = system.products, system.flat
        started.least, started.most = system.least, system.most
        return started, share

    def _solve(self, system: System) -> Optional[str]:
        """Sets `system.iterate` and `system.steps`; returns a sentence if there is a problem to report."""
        raise NotImplementedError

    def _summary(self, system: System, converged: bool) -> str:
        if converged:
            return f"converged in {system.steps} steps to a relative residual of {system.residual:.1e}"
        if system.residual is None:
            return f"{system.steps} steps, residual not measured"
        return f"relative residual {system.residual:.1e} after {system.steps} steps: {self._advice(system)}"

    def _advice(self, system: System) -> str:
        """The advice for a residual above the tolerance."""
        return "raise max_steps (now %d) or damping (now %g)" % (self.max_steps, self.damping)
