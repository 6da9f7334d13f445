from typing import Callable, List, Optional

import torch
from allennlp.common import Registrable

#: `R(x, .)` of a batch: discrete outputs `(batch, samples, tokens)` and their mask, `(batch, tokens)` or `None`, to
#: `(batch, samples)`, in [0, 1].
BatchReward = Callable[[torch.Tensor, Optional[torch.Tensor]], torch.Tensor]


class Reward(Registrable):
    """
    `R(x, y)`, how far a tagging agrees with what somebody knows of the task: in [0, 1], and computed without gold
    (SC6). It is noisy: gold need not have the highest.
    """

    def of(
        self, sentences: List[List[str]], labels: List[str], device: Optional[torch.device] = None
    ) -> BatchReward:
        """
        What the words say is found here, once a batch; taggings are then looked at many at a time.

        # Parameters

        sentences : `List[List[str]]`
            The words of each.
        labels : `List[str]`
            The tags, in the order of their indices.

        # Raises

        `ConfigurationError` if the reward does not speak of these tags.
        """
        raise NotImplementedError
