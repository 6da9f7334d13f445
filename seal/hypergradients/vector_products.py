"""Products of named vectors with the second derivatives of a loss, by autograd or by finite differences."""

from collections.abc import Mapping
from typing import Optional

import torch

from seal.common.setting_checks import check_choice
from seal.hypergradients.autograd_products import AutogradProducts
from seal.hypergradients.finite_difference_products import FiniteDifferenceProducts
from seal.hypergradients.guards import FixedRandomness
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.products import Loss, LossProducts, Reduce
from seal.registry import ConfigurationError

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
