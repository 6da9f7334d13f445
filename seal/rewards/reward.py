from collections.abc import Callable
from typing import Optional

import torch

from seal.registry import Registrable

#: `R(x, .)` of a batch: discrete outputs `(batch, samples, tokens)` and their mask, `(batch, tokens)` or `None`, to
#: `(batch, samples)`, in [0, 1].
BatchReward = Callable[[torch.Tensor, Optional[torch.Tensor]], torch.Tensor]


class Reward(Registrable):
    """
    The reward `R(x, y)`: how well a tagging agrees with prior knowledge of the task. It is in [0, 1] and computed
    without gold. It is noisy: gold need not have the highest reward.
    """

    def of(self, sentences: list[list[str]], labels: list[str], device: Optional[torch.device] = None) -> BatchReward:
        """
        The reward of a batch. What depends on the words alone is computed here, once; the result then evaluates many
        taggings at a time.

        # Parameters

        sentences : `list[list[str]]`
            The words of each sentence.
        labels : `list[str]`
            The tags, in the order of their indices.
        device : `torch.device`, optional
            The device of the outputs.

        # Raises

        `ConfigurationError` if the reward has no rule for these tags.
        """
        raise NotImplementedError
