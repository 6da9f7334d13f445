"""Shortens the linear system of a hypergradient for nets whose first layer is wide."""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Optional

import torch
from torch.nn import functional as F

from seal.hypergradients.parameter_layout import ParameterLayout


class InputSpans:
    """
    Replaces the weight of a layer that reads the data directly by a much smaller parameter. A weight `W` that is
    applied only to the rows `X` of a batch affects the loss only through `X W^T`: the rows of gradients and Hessian
    products lie in the span of `X`, and directions outside it change nothing, `J^T` included. With an orthonormal
    basis `Q` of the span, the weight is written `W + B Q^T`, and a solver needs to know only `B`, which is as wide as
    the batch has rows. Inner products, and so the implicit part, are the same up to rounding. Two things differ: a
    residual is relative to the part of `v` inside the span, and a solver that depends on the basis
    (`InverseHessianVector.depends_on_basis`) gives another result.

    # Parameters

    model : `torch.nn.Module`
        Only its linear layers are considered. A weight that two modules share, or whose layer is called more than
        once, is not replaced. A layer's weight must not be used outside its layer.
    constants : `Iterable[Any]`
        The values of the batch. A layer's weight is replaced if the layer's input is one of these tensors,
        `(rows, features)`, with more than twice as many features as rows.
    """

    def __init__(self, model: torch.nn.Module, constants: Iterable[Any]) -> None:
        self._constants = [value for value in constants if isinstance(value, torch.Tensor)]
        owners = Counter(id(weight) for module in model.modules() for weight in module.parameters(recurse=False))
        self._layers = [
            module for module in model.modules() if type(module) is torch.nn.Linear and owners[id(module.weight)] == 1
        ]
        self._inputs: dict[torch.nn.Linear, list[torch.Tensor]] = {}
        self._spans: dict[int, "_Span"] = {}

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Inside, run the net once, as the inner loss will run it: its layers' inputs are recorded."""

        def remember(layer: torch.nn.Linear, arguments: Any) -> None:
            self._inputs.setdefault(layer, []).append(arguments[0])

        handles = [layer.register_forward_pre_hook(remember) for layer in self._layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
        for layer, inputs in self._inputs.items():
            if len(inputs) == 1 and layer.weight.requires_grad and self._counts(inputs[0]):
                self._spans[id(layer.weight)] = _Span(layer, inputs[0])

    def _counts(self, rows: torch.Tensor) -> bool:
        few = rows.dim() == 2 and 2 * rows.shape[0] < rows.shape[1]
        return few and not rows.requires_grad and any(rows is value for value in self._constants)

    def layout(self, full: ParameterLayout) -> ParameterLayout:
        """The layout of the parameters with `B` in place of each replaced `W`."""
        tensors = {}
        for index, tensor in enumerate(full.tensors):
            span = self._spans.get(id(tensor))
            tensors[str(index)] = tensor if span is None else span.coordinates
        return ParameterLayout(tensors, full.role)

    def project(self, flat: torch.Tensor, full: ParameterLayout, few: ParameterLayout) -> torch.Tensor:
        """A vector over `full` as one over `few = layout(full)`, without its part outside the spans."""
        values: list[Optional[torch.Tensor]] = []
        for tensor, piece in zip(full.tensors, full.split(flat)):
            span = self._spans.get(id(tensor))
            values.append(piece if span is None else piece @ span.basis.to(piece))
        return few.flatten(values)

    @contextlib.contextmanager
    def reparametrized(self) -> Iterator[None]:
        """Inside, the layers add the contribution of `B`, which is 0, so that `B` has derivatives."""
        handles = [span.layer.register_forward_hook(span.add) for span in self._spans.values()]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


class _Span:
    def __init__(self, layer: torch.nn.Linear, rows: torch.Tensor) -> None:
        self.layer, self.rows = layer, rows
        # shape: (features, rank), (rank, rows)
        self.basis, images = torch.linalg.qr(rows.detach().t().to(layer.weight.dtype))
        self.images = images.t().contiguous()
        self.coordinates = layer.weight.new_zeros(len(layer.weight), self.basis.shape[1]).requires_grad_(True)

    def add(self, layer: torch.nn.Linear, arguments: Any, output: torch.Tensor) -> torch.Tensor:
        if arguments[0] is not self.rows:
            raise RuntimeError("InputSpans: the layer reads something else than when it was noticed.")
        return output + F.linear(self.images, self.coordinates)
