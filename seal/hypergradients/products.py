"""Products of vectors with second derivatives of the inner loss, by autograd or by finite differences."""

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Optional

import torch

from seal.common.setting_checks import check_choice, check_range, require
from seal.hypergradients.guards import (
    FixedRandomness,
    advise_finite_differences,
    differentiable_in_any_mode,
    statistics_at_rest,
    twice_differentiable,
)
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.solver import max_abs, norm_of
from seal.registry import ConfigurationError

Loss = Callable[[], torch.Tensor]
Reduce = Callable[[torch.Tensor], torch.Tensor]
Gradients = Sequence[Optional[torch.Tensor]]


class LossProducts:
    """
    `H p` with `H = d2 L / d theta d theta`, and `J^T q` with `J = d2 L / d theta d psi`, of a loss at the present
    parameters (implicit-training paper, Appendix A). One object serves all products of one solve: they share its
    random state at construction, and so their dropout masks.

    # Parameters

    loss : `Callable[[], torch.Tensor]`
        Returns `L`, one number, computed from the parameters themselves. Each call must compute everything that
        depends on them: features that were computed before are constants. The statistics of batch normalisation are
        restored afterwards; other buffers that the loss updates change with every call.
    inner : `ParameterLayout`
        `theta`.
    outer : `ParameterLayout`, optional
        `psi`; `None`: only Hessian products are needed.
    reduce : `Callable[[torch.Tensor], torch.Tensor]`, optional
        A linear map, applied to every flat gradient and product; for example the mean over the replicas of distributed
        training.
    randomness : `FixedRandomness`, optional
        The random state of every evaluation; `None`: the present state.

    # Raises

    `ConfigurationError` if the loss depends on no inner parameter, or an operation of it cannot be differentiated
    twice; `NonFiniteValue` if the loss is not finite.
    """

    def __init__(
        self,
        loss: Loss,
        inner: ParameterLayout,
        outer: Optional[ParameterLayout] = None,
        reduce: Optional[Reduce] = None,
        randomness: Optional[FixedRandomness] = None,
    ) -> None:
        self.loss, self.inner, self.outer = loss, inner, outer
        #: The relative difference between a product at two radii; `None` for exact products.
        self.disagreement: Optional[float] = None
        self.reduce = reduce or (lambda flat: flat)
        self.randomness = randomness or FixedRandomness([layout.device for layout in (inner, outer) if layout])
        #: `d L / d theta` at the present parameters, flat, `(inner.size,)`.
        self.gradient: torch.Tensor = self._first_gradient()

    def hessian(self, vector: torch.Tensor) -> torch.Tensor:
        """`H p`: `(inner.size,)` to `(inner.size,)`."""
        return self._product(vector, self.inner)

    def cross(self, vector: torch.Tensor) -> torch.Tensor:
        """`J^T q`: `(inner.size,)` to `(outer.size,)`."""
        return self._product(vector, require(self.outer, "outer"))

    def _first_gradient(self) -> torch.Tensor:
        raise NotImplementedError

    def _product(self, vector: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        """The derivative of the inner product of gradient and vector with respect to the parameters of the layout."""
        raise NotImplementedError


class NonFiniteValue(FloatingPointError):
    """
    A value that a hypergradient needs is not finite.

    # Parameters

    what : `str`
        A description of the value, such as `"outer loss is nan"`.
    """

    def __init__(self, what: str) -> None:
        super().__init__(f"hypergradient: the {what}.")
        self.what = what


def evaluate(loss: Loss, name: str) -> torch.Tensor:
    """
    Evaluates a loss and checks its value.

    # Returns

    `torch.Tensor`, one number

    # Raises

    `ConfigurationError` if it is not a tensor of one number, or in `torch.inference_mode`; `NonFiniteValue` if it is
    not finite.
    """
    if torch.is_inference_mode_enabled():
        raise ConfigurationError(
            "hypergradient: nothing has a gradient inside torch.inference_mode; call it outside, or take torch.no_grad."
        )
    with statistics_at_rest():
        value = loss()
    if not isinstance(value, torch.Tensor):
        raise ConfigurationError(
            f"hypergradient: the {name} loss is a {type(value).__name__}, not a tensor with a graph; leave out item() "
            "or float()."
        )
    if value.numel() != 1:
        raise ConfigurationError(f"hypergradient: the {name} loss has shape {tuple(value.shape)}, not one number.")
    if not torch.isfinite(value.detach()).all():
        raise NonFiniteValue(f"{name} loss is {float(value.detach())}")
    return value.reshape(())


def gradients_of(value: torch.Tensor, tensors: Sequence[torch.Tensor], **settings) -> Gradients:
    """The gradient for each tensor; `None` for an unused tensor, and without a graph."""
    if not value.requires_grad:
        return [None] * len(tensors)
    return torch.autograd.grad(value, tensors, allow_unused=True, **settings)


def loss_gradient(loss: Loss, layout: ParameterLayout, randomness: FixedRandomness) -> torch.Tensor:
    """The gradient of the inner loss, without graph: `(layout.size,)`. It raises the errors of `LossProducts`."""
    with randomness(), differentiable_in_any_mode(), torch.enable_grad():
        gradients = gradients_of(evaluate(loss, "inner"), layout.tensors)
    _refuse_independence(gradients, layout)
    return layout.flatten(gradients)


def _refuse_independence(gradients: Gradients, layout: ParameterLayout) -> None:
    """Raises an error if there is no gradient. Zeros in its place would hide a frozen net or a stray `detach`."""
    if all(gradient is None for gradient in gradients):
        raise ConfigurationError(
            f"hypergradient: the inner loss depends on none of the {layout.role}; look for a detach, "
            "no_grad or a frozen net."
        )


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
        self._norm, self._peak = norm_of(point), max_abs(point)
        self._unit = max(torch.finfo(tensor.dtype).eps for tensor in self.inner.tensors)
        return self.reduce(loss_gradient(self.loss, self.inner, self.randomness))

    def _product(self, vector: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        size = max_abs(vector)
        if size == 0:
            return torch.zeros(layout.size, dtype=layout.dtype, device=layout.device)
        step = self._step(vector, size)
        if self.disagreement is None:
            return self._first_product(vector, layout, step)
        return self._difference(vector, layout, step * self._factor)

    def _first_product(self, vector: torch.Tensor, layout: ParameterLayout, step: float) -> torch.Tensor:
        """Chooses the radius, and returns the product at this radius."""
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
                sides.append(layout.flatten(gradients_of(loss.reshape(()), layout.tensors)))
        return self.reduce((sides[0] - sides[1]) / (2 * step))

    def _step(self, vector: torch.Tensor, size: float) -> float:
        norm = norm_of(vector)
        if self._radius is not None:
            return self._radius / norm
        spread = (1 + self._norm) / norm
        peak = (1 + self._peak) / size
        return self._unit ** (1 / 3) * min(spread, peak)

    @contextlib.contextmanager
    def _displaced(self, displacement: torch.Tensor) -> Iterator[None]:
        # Adding and subtracting would not return to the same bits.
        kept = self.inner.copies()
        try:
            for tensor, piece in zip(self.inner.tensors, self.inner.split(displacement)):
                tensor.data.copy_(tensor.data.to(piece.dtype) + piece)
            yield
        finally:
            self.inner.put_back(kept)


def _distance(wide: torch.Tensor, narrow: torch.Tensor) -> float:
    """The distance between two products, relative to the larger one; infinite if one is not finite."""
    size = max(norm_of(product) for product in (wide, narrow))
    apart = norm_of(wide - narrow)
    if not math.isfinite(apart):
        return math.inf
    return apart / size if size > 0 else 0.0


class AutogradProducts(LossProducts):
    """
    `H p = d/d theta ( dL/d theta . p )` and `J^T q = d/d psi ( dL/d theta . q )`, by differentiating the gradient.
    Exact up to rounding. The loss is evaluated once, and the graph of its gradient serves every product, at the
    parameters' values at construction; it is freed with this object.
    """

    def _first_gradient(self) -> torch.Tensor:
        with self.randomness(), twice_differentiable(), advise_finite_differences(), torch.enable_grad():
            value = evaluate(self.loss, "inner")
            # A weight of 1 that requires a gradient puts the whole backward pass into the graph. Without it, an
            # operation marked once_differentiable would leave no trace, and its second derivative would count as 0.
            one = torch.ones_like(value, requires_grad=True)
            gradients = gradients_of(value, self.inner.tensors, create_graph=True, grad_outputs=one)
            _refuse_dead_ends(gradients)
        _refuse_independence(gradients, self.inner)
        self._gradients = gradients
        return self.reduce(self.inner.flatten(gradients))

    def _product(self, vector: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        sources, weights = [], []
        for gradient, piece in zip(self._gradients, self.inner.split(vector)):
            # A parameter that the loss is linear in has a constant gradient, without a graph.
            if gradient is not None and gradient.requires_grad:
                sources.append(gradient)
                weights.append(piece.to(gradient.dtype))
        found: Gradients = [None] * len(layout.tensors)
        if sources:
            with twice_differentiable(), advise_finite_differences():
                found = torch.autograd.grad(sources, layout.tensors, weights, retain_graph=True, allow_unused=True)
        return self.reduce(layout.flatten(found))


def _refuse_dead_ends(gradients: Gradients) -> None:
    """Raises the error of a node in the gradients' graph that has no derivative and that products would not visit."""
    seen, waiting = set(), [gradient.grad_fn for gradient in gradients if gradient is not None]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.name().endswith("::Error"):
            raise RuntimeError("an operation in it is marked once_differentiable")
        waiting.extend(following for following, _ in node.next_functions)


#: The ways to compute second derivatives.
PRODUCTS = ("autograd", "finite_differences")


def loss_products(
    loss: Loss,
    inner: ParameterLayout,
    outer: Optional[ParameterLayout] = None,
    products: str = "autograd",
    radius: Optional[float] = None,
    reduce: Optional[Reduce] = None,
    randomness: Optional[FixedRandomness] = None,
) -> LossProducts:
    """
    Makes the `LossProducts` of the chosen kind.

    # Parameters

    loss, inner, outer, reduce, randomness :
        As for `LossProducts`.
    products : `str`, optional (default = `"autograd"`)
        `"autograd"`: exact, by a gradient of the gradient; keeps one graph. `"finite_differences"`: two gradients per
        product; slower and approximate, but possible for any loss with a gradient.
    radius : `float`, optional
        The norm of the displacement of `"finite_differences"`, above 0; `None`: chosen from precision and norms.

    # Raises

    `ConfigurationError` for any other `products`, or a radius with `"autograd"`.
    """
    check_choice("products", products, PRODUCTS)
    if products == "finite_differences":
        return FiniteDifferenceProducts(loss, inner, outer, reduce, randomness, radius)
    if radius is not None:
        raise ConfigurationError("radius: only products 'finite_differences' have one, not 'autograd'.")
    return AutogradProducts(loss, inner, outer, reduce, randomness)


def hessian_vector_product(
    loss: Loss,
    parameters: Mapping[str, torch.Tensor],
    vector: Mapping[str, torch.Tensor],
    products: str = "autograd",
    radius: Optional[float] = None,
) -> dict[str, torch.Tensor]:
    """
    `H p` with `H = d2 L / d theta d theta`; implicit-training paper, Appendix A.

    # Parameters

    loss : `Callable[[], torch.Tensor]`
    parameters : `Mapping[str, torch.Tensor]`
        `theta`, for example `dict(net.named_parameters())`.
    vector : `Mapping[str, torch.Tensor]`
        `p`: the same names and shapes.
    products, radius :
        As for `loss_products`.

    # Returns

    `dict[str, torch.Tensor]`, names, shapes and precision of `parameters`; zeros for unused ones
    """
    layout = ParameterLayout(parameters, "inner parameters")
    return layout.named(loss_products(loss, layout, None, products, radius).hessian(layout.flatten_named(vector)))


def cross_hessian_vector_product(
    loss: Loss,
    inner: Mapping[str, torch.Tensor],
    outer: Mapping[str, torch.Tensor],
    vector: Mapping[str, torch.Tensor],
    products: str = "autograd",
    radius: Optional[float] = None,
) -> dict[str, torch.Tensor]:
    """
    `J^T q` with `J = d2 L / d theta d psi`.

    # Parameters

    loss : `Callable[[], torch.Tensor]`
    inner, outer : `Mapping[str, torch.Tensor]`
        `theta` and `psi`, without a tensor in common.
    vector : `Mapping[str, torch.Tensor]`
        `q`: names and shapes of `inner`.
    products, radius :
        As for `loss_products`.

    # Returns

    `dict[str, torch.Tensor]`, names, shapes and precision of `outer`; zeros for unused ones
    """
    theta, psi = both_layouts(inner, outer)
    return psi.named(loss_products(loss, theta, psi, products, radius).cross(theta.flatten_named(vector)))


def both_layouts(inner: Mapping[str, torch.Tensor], outer: Mapping[str, torch.Tensor]):
    """Makes the layouts. Raises a `ConfigurationError` if a tensor is in both, such as a weight of a shared encoder."""
    theta, psi = ParameterLayout(inner, "inner parameters"), ParameterLayout(outer, "outer parameters")
    shared = theta.names_shared_with(psi)
    if shared:
        raise ConfigurationError(
            f"hypergradient: '{shared[0]}' is among the inner and the outer parameters; leave it out of one."
        )
    return theta, psi
