from typing import Optional

from seal.common.setting_checks import check_range
from seal.hypergradients.solver import InverseHessianVector, System


@InverseHessianVector.register("identity")
class ScaledIdentity(InverseHessianVector):
    """
    `q = v / c`: the Neumann series with `K = 0`, as a baseline without Hessian-vector products, except the one that
    measures the residual. It is not in the implicit-training paper.

    # Parameters

    divisor : `float`, optional (default = `1.0`)
        `c`, above 0.
    damping : `float`, optional (default = `0.0`)
        Affects only the residual.
    tolerance, max_steps, measure_residual :
        As for `InverseHessianVector`; it takes no steps.
    """

    _fewest_steps = 0

    def __init__(
        self,
        divisor: float = 1.0,
        damping: float = 0.0,
        tolerance: float = 1e-4,
        max_steps: int = 0,
        measure_residual: bool = True,
    ) -> None:
        super().__init__(damping, tolerance, max_steps, measure_residual)
        check_range("solver.divisor", divisor, above=0)
        self.divisor = divisor

    def _solve(self, system: System) -> Optional[str]:
        system.iterate = system.rhs / self.divisor
        return None

    def _advice(self, system: System) -> str:
        return f"the Hessian is not {self.divisor:g} times the identity; take 'neumann' or 'conjugate_gradient'"
