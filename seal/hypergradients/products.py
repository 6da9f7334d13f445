from collections.abc import Callable
from typing import Optional

import torch

from seal.hypergradients.guards import FixedRandomness, statistics_at_rest
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.registry import ConfigurationError

Loss = Callable[[], torch.Tensor]
Reduce = Callable[[torch.Tensor], torch.Tensor]


class LossProducts:
    """
    `H p` with `H = d2 L / d theta d theta`, and `J^T q` with `J = d2 L / d theta d psi`, of a loss at the present
    parameters (implicit-training paper, Appendix A). One object serves all products of one solve: they share its
    random state at construction, and so their dropout masks.

    # Parameters

    loss : `Callable[[], torch.Tensor]`
        Returns `L`, one number, computed from the parameters themselves. Each call must compute everything that
        depends on them, since features computed before are constants to it. The statistics of batch normalisation
        are put back afterwards; other buffers that it updates change with every call.
    inner : `ParameterLayout`
        `theta`.
    outer : `ParameterLayout`, optional
        `psi`; without it there are only Hessian products.
    reduce : `Callable[[torch.Tensor], torch.Tensor]`, optional
        A linear map, applied to every flat gradient and product; for example the mean over the replicas of distributed
        training.
    randomness : `FixedRandomness`, optional
        The random state of every evaluation; `None`: that at construction.

    # Raises

    `ConfigurationError` where the loss depends on no inner parameter, or an operation of it cannot be
    differentiated twice. `NonFiniteValue` where the loss is not finite.
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
        #: How far apart two radii put a product, relative to it; `None` where products are exact.
        self.disagreement: Optional[float] = None
        self.reduce = reduce or (lambda flat: flat)
        self.randomness = randomness or FixedRandomness([layout.device for layout in (inner, outer) if layout])
        #: `d L / d theta` at the present parameters, flat, `(inner.size,)`.
        self.gradient: torch.Tensor = self._first_gradient()

    def hessian(self, vector: torch.Tensor) -> torch.Tensor:
        """`H p`: `(inner.size,)` to `(inner.size,)`."""
        raise NotImplementedError

    def cross(self, vector: torch.Tensor) -> torch.Tensor:
        """`J^T q`: `(inner.size,)` to `(outer.size,)`."""
        raise NotImplementedError

    def _first_gradient(self) -> torch.Tensor:
        raise NotImplementedError


class NonFiniteValue(FloatingPointError):
    """
    A value that a hypergradient needs is not finite.

    # Parameters

    what : `str`
        Which it is, and its value if it is a number: `"outer loss is nan"`.
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


def gradients_of(value: torch.Tensor, layout: ParameterLayout, create_graph: bool = False, **settings):
    """One gradient for each tensor of the layout, `None` for an unused one and where there is no graph."""
    if not value.requires_grad:
        return [None] * len(layout.tensors)
    return torch.autograd.grad(value, layout.tensors, create_graph=create_graph, allow_unused=True, **settings)


def loss_gradient(loss: Loss, layout: ParameterLayout, randomness: FixedRandomness) -> torch.Tensor:
    """
    The gradient of the inner loss.

    # Returns

    `torch.Tensor`, `(layout.size,)`, without graph

    # Raises

    As `LossProducts`.
    """
    with randomness(), torch.enable_grad():
        gradients = gradients_of(evaluate(loss, "inner"), layout)
    refuse_independence(gradients, layout, "inner")
    return layout.flatten(gradients)


def refuse_independence(gradients, layout: ParameterLayout, name: str) -> None:
    """
    # Raises

    `ConfigurationError` where there is no gradient at all: zeros would hide a frozen net or a stray `detach`.
    """
    if all(gradient is None for gradient in gradients):
        raise ConfigurationError(
            f"hypergradient: the {name} loss depends on none of the {layout.role}; look for a detach, "
            "no_grad or a frozen net."
        )
