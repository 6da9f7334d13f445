"""
Contexts for a loss that is evaluated inside a product: which kernels run, which random numbers are drawn, and how
errors are worded.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.module import register_module_forward_pre_hook

from seal.registry import ConfigurationError

# Torch's messages for an operation whose gradient cannot be differentiated again.
_NO_SECOND_DERIVATIVE = re.compile(
    r"derivative for \S+ is not implemented|once_differentiable|double.?backward|differentiate twice",
    re.IGNORECASE,
)


@contextlib.contextmanager
def twice_differentiable() -> Iterator[None]:
    """
    Inside this context, plain implementations run in place of fused attention and cuDNN's LSTMs, whose gradients torch
    cannot differentiate again. They are slower and take more memory.
    """
    with sdpa_kernel(SDPBackend.MATH), torch.backends.cudnn.flags(enabled=False):
        yield


@contextlib.contextmanager
def differentiable_in_any_mode() -> Iterator[None]:
    """Turns cuDNN off: its LSTMs have a gradient only in training mode, and a net may be in evaluation mode."""
    with torch.backends.cudnn.flags(enabled=False):
        yield


@contextlib.contextmanager
def advise_finite_differences() -> Iterator[None]:
    """
    # Raises

    `ConfigurationError` that advises finite differences, if an operation has no second derivative all the same.
    """
    try:
        yield
    except RuntimeError as error:
        if _NO_SECOND_DERIVATIVE.search(str(error)) is None:
            raise
        first_line = str(error).strip().splitlines()[0]
        raise ConfigurationError(
            "hypergradient: an operation of the inner loss has no second derivative, so set products to "
            f"'finite_differences' ({first_line})"
        ) from error


@contextlib.contextmanager
def statistics_at_rest() -> Iterator[None]:
    """Puts the running statistics of batch and instance normalisation back on exit, bit for bit."""
    kept: dict[torch.nn.Module, list[torch.Tensor]] = {}

    def keep(module: torch.nn.Module, arguments: Any) -> None:
        if isinstance(module, _NormBase) and module not in kept:
            kept[module] = [buffer.clone() for buffer in module.buffers(recurse=False)]

    handle = register_module_forward_pre_hook(keep)
    try:
        yield
    finally:
        handle.remove()
        for module, values in kept.items():
            for buffer, value in zip(module.buffers(recurse=False), values):
                # `.data`, so that a graph that holds the buffer stays valid.
                buffer.data.copy_(value)


class FixedRandomness:
    """
    A context manager that, at each use, restores the random state of its construction, and puts the caller's state back
    on exit. Dropout then draws the same mask each time, so that a Hessian is that of one function.

    # Parameters

    devices : `Iterable[torch.device]`
        The parameters' devices; the CPU is always included.
    """

    def __init__(self, devices: Iterable[torch.device]) -> None:
        self._cuda = sorted({_index(device) for device in devices if device.type == "cuda"})
        self._cpu_state = torch.get_rng_state()
        self._cuda_states = [torch.cuda.get_rng_state(index) for index in self._cuda]

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        with torch.random.fork_rng(devices=self._cuda):
            torch.set_rng_state(self._cpu_state)
            for index, state in zip(self._cuda, self._cuda_states):
                torch.cuda.set_rng_state(state, index)
            yield


def _index(device: torch.device) -> int:
    return torch.cuda.current_device() if device.index is None else device.index
