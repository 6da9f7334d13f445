"""
A device that is not the CPU, for tests on machines without one.

Tensors on it are computed by the CPU, but an operation that mixes them with tensors of the CPU is refused as a GPU
refuses it, and so is NumPy. What creates tensors without saying where, and what forgets to bring them back, is found
without a GPU; what a GPU computes, its speed and its memory are not.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.optim import optimizer
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

#: Of the names that PyTorch has, one that needs no driver.
DEVICE = torch.device("meta", 0)
aten = torch.ops.aten
#: Between devices on purpose.
COPIES = {aten._to_copy.default, aten.copy_.default, aten._foreach_copy_.default}
#: Lengths are always the CPU's.
WITH_LENGTHS = {
    aten._pack_padded_sequence.default,
    aten._pack_padded_sequence_backward.default,
    aten._pad_packed_sequence.default,
}
#: Indices may be the CPU's where what they index is not.
INDEXED = {aten.index.Tensor, aten.index_put_.default, aten.index_put.default, aten._index_put_impl_.default}


class Remote(torch.Tensor):
    """A tensor of `DEVICE` by its own account; `local` holds its values, on the CPU."""

    local: torch.Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, local: torch.Tensor) -> "Remote":
        tensor = torch.Tensor._make_wrapper_subclass(
            cls,
            local.size(),
            strides=local.stride(),
            storage_offset=local.storage_offset(),
            dtype=local.dtype,
            layout=local.layout,
            device=DEVICE,
        )
        tensor.local = local
        return tensor

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return compute(function, args, kwargs or {})

    def tolist(self):
        return self.local.tolist()

    def numpy(self, **_):
        raise TypeError("can't convert a tensor of another device to numpy; use Tensor.cpu() first.")

    __array__ = numpy

    def __repr__(self, **_):
        return f"Remote({self.local})"

    def __reduce_ex__(self, protocol):
        # Into a file as the CPU's.
        return self.local.__reduce_ex__(protocol)

    def new_tensor(self, data, **options):
        return Remote(self.local.new_tensor(data, **options))


class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        return compute(function, args, kwargs or {})


def compute(function: Any, args: Any, kwargs: Any) -> Any:
    target = kwargs.get("device")
    if target is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    flat, structure = tree_flatten((args, kwargs))
    has_remote = any(isinstance(value, Remote) for value in flat)
    if has_remote and function not in COPIES | WITH_LENGTHS:
        check_devices(function, args, flat)
    inner = [value.local if isinstance(value, Remote) else value for value in flat]
    inner_args, inner_kwargs = tree_unflatten(inner, structure)
    result = function(*inner_args, **inner_kwargs)
    there = has_remote if target is None else torch.device(target).type == DEVICE.type
    # What an operation changes in place stays where it is.
    given = {id(local): value for local, value in zip(inner, flat) if isinstance(local, torch.Tensor)}

    def outward(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in given:
            return given[id(value)]
        return Remote(value) if there else value

    if function in WITH_LENGTHS and isinstance(result, tuple):
        return outward(result[0]), result[1]
    values, structure = tree_flatten(result)
    return tree_unflatten([outward(value) for value in values], structure)


def check_devices(function: Any, args: Any, flat: Any) -> None:
    if function in INDEXED and isinstance(args[0], Remote):
        flat = [args[0], *args[2:]]
    for value in flat:
        if isinstance(value, torch.Tensor) and not isinstance(value, Remote) and value.dim() > 0:
            raise RuntimeError(f"Expected all tensors to be on the same device: {function}.")


@contextmanager
def other_device() -> Iterator[torch.device]:
    fused, lifts = optimizer._get_fused_kernels_supported_devices, torch._C._only_lift_cpu_tensors()
    optimizer._get_fused_kernels_supported_devices = lambda: [*fused(), DEVICE.type]
    torch._C._set_only_lift_cpu_tensors(True)
    try:
        with Dispatch():
            yield DEVICE
    finally:
        torch._C._set_only_lift_cpu_tensors(lifts)
        optimizer._get_fused_kernels_supported_devices = fused
