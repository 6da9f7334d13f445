import contextlib
from typing import Iterator, Optional

import torch

from seal.common.setting_checks import check_range
from seal.hypergradients.guards import FixedRandomness, differentiable_in_any_mode
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.products import Loss, LossProducts, Reduce, gradients_of, loss_gradient
from seal.hypergradients.solver import max_abs


class FiniteDifferenceProducts(LossProducts):
    """
    Central differences of the gradient along the vector:

        H p   ~ [ g_theta(theta + e p) - g_theta(theta - e p) ] / 2e
        J^T q ~ [ g_psi(theta + e q)   - g_psi(theta - e q)   ] / 2e

    The displacement `e p` is large enough to survive rounding, and small enough to keep the third derivative out:
    `e = u^(1/3) min( (1 + |theta|) / |p|, (1 + max|theta|) / max|p| )`, with `u` the rounding unit of the least
    precise parameter; the second term is for vectors concentrated in few parameters. The error is then about
    `u^(2/3)`: 1e-10 in float64, 1e-4 in float32; in bfloat16 little more than a product's direction is right.
    Afterwards the parameters have their former values, bit for bit, also if the loss raised an exception.

    # Parameters

    loss, inner, outer, reduce, randomness :
        As for `LossProducts`.
    radius : `float`, optional (default = `None`)
        The norm of `e p`, above 0, in place of this rule.
    """

    def __init__(
        self,
        loss: Loss,
        inner: ParameterLayout,
        outer: Optional[ParameterLayout] = None,
        reduce: Optional[Reduce] = None,
        randomness: Optional[FixedRandomness] = None,
        radius: Optional[float] = None,
    ) -> None:
        check_range("radius", radius, above=0)
        self._radius = radius
        super().__init__(loss, inner, outer, reduce, randomness)

    def _first_gradient(self) -> torch.Tensor:
        # Computed once, as the parameters do not change while the products are in use.
        point = self.inner.flatten(self.inner.tensors)
        self._norm, self._peak = float(torch.linalg.vector_norm(point)), max_abs(point)
        with differentiable_in_any_mode():
            return self.reduce(loss_gradient(self.loss, self.inner, self.randomness))

    def hessian(self, vector: torch.Tensor) -> torch.Tensor:
        return self._difference(vector, self.inner)

    def cross(self, vector: torch.Tensor) -> torch.Tensor:
        return self._difference(vector, self.outer)

    def _difference(self, vector: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        size = max_abs(vector)
        if size == 0:
            return torch.zeros(layout.size, dtype=layout.dtype, device=layout.device)
        step = self._step(vector, size)
        sides = []
        for signed in (step, -step):
            with self._displaced(vector * signed), self.randomness(), differentiable_in_any_mode(), torch.enable_grad():
                # Not through `evaluate`: a loss that is not finite here makes a product that is not finite, which
                # solvers report.
                sides.append(layout.flatten(gradients_of(self.loss().reshape(()), layout)))
        return self.reduce((sides[0] - sides[1]) / (2 * step))

    def _step(self, vector: torch.Tensor, size: float) -> float:
        norm = float(torch.linalg.vector_norm(vector))
        if self._radius is not None:
            return self._radius / norm
        unit = max(torch.finfo(tensor.dtype).eps for tensor in self.inner.tensors)
        spread = (1 + self._norm) / norm
        peak = (1 + self._peak) / size
        return unit ** (1 / 3) * min(spread, peak)

    @contextlib.contextmanager
    def _displaced(self, displacement: torch.Tensor) -> Iterator[None]:
        # `.data` leaves version counters alone, so that a graph that the caller holds stays valid: the values are
        # restored. A clone keeps them, as adding and subtracting would not return to the same bits.
        kept = [tensor.detach().clone() for tensor in self.inner.tensors]
        try:
            for tensor, piece in zip(self.inner.tensors, self.inner.split(displacement)):
                tensor.data.copy_(tensor.data.to(piece.dtype) + piece)
            yield
        finally:
            for tensor, value in zip(self.inner.tensors, kept):
                tensor.data.copy_(value)
