from typing import Optional

import torch

from seal.hypergradients.solver import InverseHessianVector, System


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
        system.note_curvature(float(values[0]))
        system.note_curvature(float(values[-1]))
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
