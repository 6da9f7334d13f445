"""Saves and restores the states of the random generators, and separate random streams."""

import random
from contextlib import contextmanager
from typing import Any, Optional

import numpy
import torch


def torch_state() -> list[torch.Tensor]:
    """The states of torch's generators: the CPU's, and the current GPU's where CUDA is in use."""
    states = [torch.get_rng_state()]
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states.append(torch.cuda.get_rng_state())
    return states


def set_torch_state(states: list[torch.Tensor]) -> None:
    """Restores the states that `torch_state` returned."""
    torch.set_rng_state(states[0].cpu())
    if len(states) > 1 and torch.cuda.is_available():
        torch.cuda.set_rng_state(states[1].cpu())


def random_state() -> dict[str, Any]:
    """The states of Python's, numpy's and torch's generators, as plain values and tensors."""
    drawn = numpy.random.get_state(legacy=False)
    keys, position = drawn["state"]["key"], drawn["state"]["pos"]
    version, internal, gauss_next = random.getstate()
    return {
        "python": [version, list(internal), gauss_next],
        "numpy": [drawn["bit_generator"], keys.tolist(), int(position), int(drawn["has_gauss"]), float(drawn["gauss"])],
        "torch": torch_state(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restores the states that `random_state` returned."""
    version, internal, gauss_next = state["python"]
    random.setstate((version, tuple(internal), gauss_next))
    name, keys, position, has_gauss, gauss = state["numpy"]
    numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), position, has_gauss, gauss))
    set_torch_state(state["torch"])


def set_seed(seed: int) -> None:
    """Seeds Python's, numpy's and torch's generators."""
    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


class RandomStream:
    """
    A random stream of torch, separate from the global one. The loss-net's samples and dropout use one, so that the
    task-net's dropout is the same with a loss-net and without: such runs are paired, and training with an energy weight
    of 0 equals cross-entropy training, bit for bit.

    # Parameters

    seed : `int`
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        #: A result of `torch_state`; `None` before the first use.
        self.state: Optional[list[torch.Tensor]] = None

    @contextmanager
    def active(self):
        """A context in which torch draws from this stream."""
        outside = torch_state()
        if self.state is None:
            torch.manual_seed(self._seed)
        else:
            set_torch_state(self.state)
        try:
            yield
        finally:
            self.state = torch_state()
            set_torch_state(outside)
