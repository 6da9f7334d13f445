from contextlib import contextmanager
from typing import Optional

import torch

from seal.common.random_states import set_torch_state, torch_state


class RandomStream:
    """
    A random stream of torch's, separate from the global one. The loss-net's draws and dropout come from one, so that
    the task-net's dropout is the same with a loss-net and without: runs with and without a loss-net are paired, and
    training with an energy weight of 0 is cross-entropy training, bit for bit.

    # Parameters

    seed : `int`
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        #: As `torch_state` gives it; `None` before the first use.
        self.state: Optional[list[torch.Tensor]] = None

    @contextmanager
    def active(self):
        """Inside, torch draws from this stream."""
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
