"""Converts between named parameters and one flat vector."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Optional

import torch

from seal.registry import ConfigurationError


class ParameterLayout:
    """
    Converts between dictionaries of named parameters, which users have, and flat vectors, which solvers need. It knows
    the place of each parameter in the vector.

    A tensor with two names is one parameter and occurs once. Vectors are at least float32, because sums over many
    parameters in half precision would lose small terms.

    # Parameters

    parameters : `Mapping[str, torch.Tensor]`
        Leaves of any shape, `()` too, and any strides, on one device, with floating-point elements.
    role : `str`, optional (default = `"parameters"`)
        The name of the parameters in error messages.

    # Raises

    `ConfigurationError` if the parameters have no names, there is none, or one is not a tensor, is frozen, not a leaf,
    not of floating point, made in `torch.inference_mode`, or on another device.
    """

    def __init__(self, parameters: Mapping[str, torch.Tensor], role: str = "parameters") -> None:
        self.role = role
        if not isinstance(parameters, Mapping):
            raise ConfigurationError(
                f"hypergradient: the {role} are a {type(parameters).__name__}, not tensors by name; give "
                "dict(net.named_parameters())."
            )
        self.tensors: list[torch.Tensor] = []
        self._index: dict[str, int] = {}
        places: dict[int, int] = {}
        for name, tensor in parameters.items():
            problem = _problem(tensor)
            if problem is not None:
                raise ConfigurationError(f"hypergradient: {role} '{name}' {problem}.")
            if id(tensor) not in places:
                places[id(tensor)] = len(self.tensors)
                self.tensors.append(tensor)
            self._index[name] = places[id(tensor)]
        if not self.tensors:
            raise ConfigurationError(f"hypergradient: there are no {role}.")
        devices = {tensor.device for tensor in self.tensors}
        if len(devices) > 1:
            raise ConfigurationError(f"hypergradient: the {role} lie on {len(devices)} devices; move them to one.")
        (self.device,) = devices
        self.dtype = reduce(torch.promote_types, (tensor.dtype for tensor in self.tensors), torch.float32)
        self.sizes = [tensor.numel() for tensor in self.tensors]
        self.size = sum(self.sizes)

    def names_shared_with(self, other: "ParameterLayout") -> list[str]:
        """The names of the tensors that are also in `other`."""
        theirs = {id(tensor) for tensor in other.tensors}
        return [name for name, index in self._index.items() if id(self.tensors[index]) in theirs]

    def copies(self) -> list[torch.Tensor]:
        """The present values of `tensors`."""
        return [tensor.detach().clone() for tensor in self.tensors]

    def put_back(self, values: Sequence[torch.Tensor]) -> None:
        """Sets the values of `tensors`. Existing graphs stay valid, because version counters do not change."""
        for tensor, value in zip(self.tensors, values):
            tensor.data.copy_(value)

    def flatten(self, values: Sequence[Optional[torch.Tensor]]) -> torch.Tensor:
        """
        Joins a value for each parameter into a flat vector.

        # Parameters

        values : `Sequence[Optional[torch.Tensor]]`
            One for each of `tensors`, in its shape; `None` counts as zeros.

        # Returns

        `torch.Tensor`, `(size,)`, without gradient
        """
        pieces = []
        for value, tensor in zip(values, self.tensors):
            if value is None:
                piece = torch.zeros(tensor.numel(), dtype=self.dtype, device=self.device)
            else:
                # Embeddings may have sparse gradients.
                value = value.detach()
                piece = (value.to_dense() if value.is_sparse else value).to(self.dtype).reshape(-1)
            pieces.append(piece)
        return torch.cat(pieces)

    def flatten_named(self, named: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """
        The flat vector, `(size,)`, of a dictionary. For a tensor with two names, the value of the last one counts.

        # Raises

        `ConfigurationError` if names or shapes differ from those of the parameters.
        """
        if set(named) != set(self._index):
            odd = sorted(set(named) ^ set(self._index))[0]
            raise ConfigurationError(f"hypergradient: the vector and the {self.role} differ in the name '{odd}'.")
        values: list[Optional[torch.Tensor]] = [None] * len(self.tensors)
        for name, index in self._index.items():
            if named[name].shape != self.tensors[index].shape:
                raise ConfigurationError(
                    f"hypergradient: the vector's '{name}' has shape {tuple(named[name].shape)}, the parameter "
                    f"{tuple(self.tensors[index].shape)}."
                )
            values[index] = named[name]
        return self.flatten(values)

    def split(self, flat: torch.Tensor) -> list[torch.Tensor]:
        """A flat vector as views in the shapes of `tensors`, in the vector's own precision."""
        return [piece.reshape(tensor.shape) for piece, tensor in zip(flat.split(self.sizes), self.tensors)]

    def named(self, flat: torch.Tensor) -> dict[str, torch.Tensor]:
        """
        A flat vector as a dictionary with the parameters' shapes and precision, for their `.grad`. Two names of one
        parameter have the same tensor.
        """
        pieces = [piece.to(tensor.dtype) for piece, tensor in zip(self.split(flat), self.tensors)]
        return {name: pieces[index] for name, index in self._index.items()}


def _problem(tensor: torch.Tensor) -> Optional[str]:
    if not isinstance(tensor, torch.Tensor):
        return f"is a {type(tensor).__name__}, not a tensor"
    if tensor.is_inference():
        return "was made in torch.inference_mode, so it has no gradient; make it outside"
    if not tensor.is_floating_point():
        return f"is of type {tensor.dtype}, not of floating point"
    if not tensor.is_leaf:
        return "is computed from others (not a leaf); give what it is computed from"
    if not tensor.requires_grad:
        return "is frozen (requires_grad is false); unfreeze it or leave it out"
    return None
