from collections.abc import Sequence
from typing import Optional

import torch

from seal.common.setting_checks import needed
from seal.hypergradients.guards import advise_finite_differences, twice_differentiable
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.products import LossProducts, evaluate, gradients_of, refuse_independence


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
