import contextlib
from typing import Any, Dict, Iterable, Iterator, List, Optional

import torch
from torch.nn import functional as F

from seal.hypergradients.parameter_layout import ParameterLayout


class InputSpans:
    """
    Makes the parameters of layers that read the data themselves few. A weight `W` that meets nothing but the rows `X`
    of a batch is seen by the loss through `X W^T` alone: gradients and Hessian products have rows in the span of `X`,
    and directions outside it change nothing, `J^T` included. With an orthonormal basis `Q` of the span, `W + B Q^T`
    stands for `W`, and `B`, as wide as the batch has rows, for all that a solver has to know of it. Inner products are
    kept, and so is the implicit part, but for rounding and the share of `v` outside the span that a residual is
    relative to; not that of a solver which rests on the basis it is written in (`InverseHessianVector.basis_bound`).

    # Parameters

    model : `torch.nn.Module`
        Whose linear layers are looked at. A weight that two modules share, or whose layer is called more than once,
        stays as it is. A layer's weight must have no use but in its layer.
    constants : `Iterable[Any]`
        The batch; layers whose input is one of its tensors, `(rows, features)` with more than twice as many features
        as rows, are those that count.
    """

    def __init__(self, model: torch.nn.Module, constants: Iterable[Any]) -> None:
        self._constants = [value for value in constants if isinstance(value, torch.Tensor)]
        owners: Dict[int, int] = {}
        for module in model.modules():
            for parameter in module.parameters(recurse=False):
                owners[id(parameter)] = owners.get(id(parameter), 0) + 1
        self._layers = [
            module
            for module in model.modules()
            if type(module) is torch.nn.Linear and owners[id(module.weight)] == 1
        ]
        self._inputs: Dict[torch.nn.Linear, List[torch.Tensor]] = {}
        self._spans: Dict[int, "_Span"] = {}

    @contextlib.contextmanager
    def noticed(self) -> Iterator[None]:
        """Inside, the net runs once, as the inner loss will run it; what its layers read is remembered."""

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
        """The parameters with `B` in the place of each such `W`."""
        tensors = {}
        for index, tensor in enumerate(full.tensors):
            span = self._spans.get(id(tensor))
            tensors[str(index)] = tensor if span is None else span.coordinates
        return ParameterLayout(tensors, full.role)

    def project(self, flat: torch.Tensor, full: ParameterLayout, few: ParameterLayout) -> torch.Tensor:
        """A vector over `full` as one over `layout(full)`, less its share outside the spans."""
        values: List[Optional[torch.Tensor]] = []
        for tensor, piece in zip(full.tensors, full.split(flat)):
            span = self._spans.get(id(tensor))
            values.append(piece if span is None else piece @ span.basis.to(piece))
        return few.flatten(values)

    @contextlib.contextmanager
    def substituted(self) -> Iterator[None]:
        """Inside, the layers add what `B`, which is 0, contributes."""
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
