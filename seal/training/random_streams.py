import random
from typing import Any, Dict

import numpy

from seal.two_player.random_stream import set_torch_state, torch_state


def random_state() -> Dict[str, Any]:
    """The states of Python's, numpy's and torch's generators, as plain values and tensors."""
    name, keys, position, has_gauss, gauss = numpy.random.get_state()
    version, internal, gauss_next = random.getstate()
    return {
        "python": [version, list(internal), gauss_next],
        "numpy": [name, keys.tolist(), int(position), int(has_gauss), float(gauss)],
        "torch": torch_state(),
    }


def set_random_state(state: Dict[str, Any]) -> None:
    """Restores the states that `random_state` returned."""
    version, internal, gauss_next = state["python"]
    random.setstate((version, tuple(internal), gauss_next))
    name, keys, position, has_gauss, gauss = state["numpy"]
    numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), position, has_gauss, gauss))
    set_torch_state(state["torch"])
