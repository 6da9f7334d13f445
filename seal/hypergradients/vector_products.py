"""Products of named vectors with the second derivatives of a loss, by autograd or by finite differences."""

from collections.abc import Mapping, Sequence
from typing import Optional

import torch

from seal.common.setting_checks import check_choice, needed
from seal.hypergradients.finite_difference_products import FiniteDifferenceProducts
from seal.hypergradients.guards import FixedRandomness, advise_finite_differences, twice_differentiable
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.products import Loss, LossProducts, Reduce, evaluate, gradients_of, refuse_independence
from seal.registry import ConfigurationError


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
            gradients = gradients_of(value, self.inner, create_graph=True, grad_outputs=one)
            _refuse_dead_ends(gradients)
        refuse_independence(gradients, self.inner, "inner")
        self._gradients: list[Optional[torch.Tensor]] = list(gradients)
        return self.reduce(self.inner.flatten(gradients))

    def hessian(self, vector: torch.Tensor) -> torch.Tensor:
        return self._differentiate(vector, self.inner)

    def cross(self, vector: torch.Tensor) -> torch.Tensor:
        return self._differentiate(vector, needed(self.outer, "outer"))

    def _differentiate(self, vector: torch.Tensor, layout: ParameterLayout) -> torch.Tensor:
        sources, weights = [], []
        for gradient, piece in zip(self._gradients, self.inner.split(vector)):
            # A parameter that the loss is linear in has a constant gradient, without a graph.
            if gradient is not None and gradient.requires_grad:
                sources.append(gradient)
                weights.append(piece.to(gradient.dtype))
        found: Sequence[Optional[torch.Tensor]] = [None] * len(layout.tensors)
        if sources:
            with twice_differentiable(), advise_finite_differences():
                found = torch.autograd.grad(sources, layout.tensors, weights, retain_graph=True, allow_unused=True)
        return self.reduce(layout.flatten(found))


def _refuse_dead_ends(gradients: Sequence[Optional[torch.Tensor]]) -> None:
    """
    # Raises

    `RuntimeError` if the graph of the gradients has a node that can only raise an error, and that products would never
    visit.
    """
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
    """
    The layouts of the inner and of the outer parameters.

    # Raises

    `ConfigurationError` where a tensor is in both, as an encoder that the nets share would be.
    """
    theta, psi = ParameterLayout(inner, "inner parameters"), ParameterLayout(outer, "outer parameters")
    shared = theta.names_shared_with(psi)
    if shared:
        raise ConfigurationError(
            f"hypergradient: '{shared[0]}' is among the inner and the outer parameters; leave it out of one."
        )
    return theta, psi
