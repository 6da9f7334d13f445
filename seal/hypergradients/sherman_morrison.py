from typing import Optional

import torch

from seal.hypergradients.solver import InverseHessianVector, System
from seal.registry import ConfigurationError


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
