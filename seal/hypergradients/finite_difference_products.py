import contextlib
import math
from collections.abc import Iterator
from typing import Optional

import torch

from seal.common.setting_checks import check_range, needed
from seal.hypergradients.guards import FixedRandomness, differentiable_in_any_mode, statistics_at_rest
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.products import Loss, LossProducts, Reduce, gradients_of, loss_gradient
from seal.hypergradients.solver import max_abs

# The radii that are compared differ by this factor.
_SHRINK = 8
# A disagreement up to which the larger of two radii is good.
_AGREEMENT = 1e-3


class FiniteDifferenceProducts(LossProducts):
    """
    Central differences of the gradient along the vector:

        H p   ~ [ g_theta(theta + e p) - g_theta(theta - e p) ] / 2e
        J^T q ~ [ g_psi(theta + e q)   - g_psi(theta - e q)   ] / 2e

    The displacement `e p` is large enough to survive rounding, and small enough to keep the third derivative out:
    `e = u^(1/3) min( (1 + |theta|) / |p|, (1 + max|theta|) / max|p| )`, with `u` the rounding unit of the least
    precise parameter; the second term is for vectors concentrated in few parameters. The error is then about
    `u^(2/3)`: 1e-10 in float64, 1e-4 in float32; in bfloat16 little more than a product's direction is right.

    The rule supposes that a loss changes over parameters of size 1. Where it changes much faster (inputs in the
    thousands), the third derivative comes in. So the first product is taken with this radius and with an eighth of it.
    If the two disagree, the radius is divided by 8 again until they agree or rounding parts them, and the pair that
    agrees best sets the radius of all products. `disagreement` is the distance of its two products, relative to the
    product. Afterwards the parameters have their former values, bit for bit, also if the loss raised an exception.

    # Parameters

    loss, inner, outer, reduce, randomness :
        As for `LossProducts`.
    radius : `float`, optional (default = `None`)
        The norm of `e p`, above 0, in place of this rule; it is compared with an eighth of it, and kept.
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
        # What the rule's radius is multiplied by.
        self._factor = 1.0
        super().__init__(loss, inner, outer, reduce, randomness)

    def _first_gradient(self) -> torch.Tensor:
        # Computed once, as the parameters do not change while the products are in use.
        point = self.inner.flatten(self.inner.tensors)
        self._norm, self._peak = float(torch.linalg.vector_norm(point)), max_abs(point)
        self._unit = max(torch.finfo(tensor.dtype).eps for tensor in self.inner.tensors)
        with differentiable_in_any_mode():
            return self.reduce(loss_gradient(self.loss, self.inner, self.randomness))

    def hessian(self, vector: torch.Tensor) -> torch.Tensor:
        return self._product(vector, self.inner)

    def cross(self, vector: torch.Tensor) -> torch.Tensor:
        return self._product(vector, needed(self.outer, "outer"))

    def _product(self, vector: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        size = max_abs(vector)
        if size == 0:
            return torch.zeros(layout.size, dtype=layout.dtype, device=layout.device)
        step = self._step(vector, size)
        if self.disagreement is None:
            return self._first_product(vector, layout, step)
        return self._difference(vector, layout, step * self._factor)

    def _first_product(self, vector: torch.Tensor, layout: ParameterLayout, step: float) -> torch.Tensor:
        """The product at the radius that it chooses."""
        factor, wide = 1.0, self._difference(vector, layout, step)
        found, self.disagreement = wide, math.inf
        while True:
            narrow = self._difference(vector, layout, step * factor / _SHRINK)
            apart = _distance(wide, narrow)
            if apart < self.disagreement:
                found, self.disagreement, self._factor = wide, apart, factor
            rounding = apart > 2 * self.disagreement
            if apart <= _AGREEMENT or rounding or self._radius is not None or factor < self._unit ** (2 / 3):
                return found
            factor, wide = factor / _SHRINK, narrow

    def _difference(self, vector: torch.Tensor, layout: ParameterLayout, step: float) -> torch.Tensor:
        sides = []
        for signed in (step, -step):
            with self._displaced(vector * signed), self.randomness(), differentiable_in_any_mode(), torch.enable_grad():
                # Not through `evaluate`: a loss that is not finite here makes a product that is not finite, which
                # solvers report.
                with statistics_at_rest():
                    loss = self.loss()
                sides.append(layout.flatten(gradients_of(loss.reshape(()), layout)))
        return self.reduce((sides[0] - sides[1]) / (2 * step))

    def _step(self, vector: torch.Tensor, size: float) -> float:
        norm = float(torch.linalg.vector_norm(vector))
        if self._radius is not None:
            return self._radius / norm
        spread = (1 + self._norm) / norm
        peak = (1 + self._peak) / size
        return self._unit ** (1 / 3) * min(spread, peak)

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


def _distance(wide: torch.Tensor, narrow: torch.Tensor) -> float:
    """How far two products are apart, relative to the larger; infinite if one is not finite."""
    size = max(float(torch.linalg.vector_norm(product)) for product in (wide, narrow))
    apart = float(torch.linalg.vector_norm(wide - narrow))
    if not math.isfinite(apart):
        return math.inf
    return apart / size if size > 0 else 0.0
