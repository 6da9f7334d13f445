from typing import NamedTuple, Optional

import torch

from seal.losses import NetTerms


class LossTerms(NamedTuple):
    """
    The arguments of a task loss.

    # Parameters

    task_net : `NetTerms`
    cost_augmented : `NetTerms`, optional
        `None` without a cost-augmented network.
    gold_energy : `torch.Tensor`, `(batch,)`, optional
        `None` where the loss does not read it, or the energy is not used.
    """

    task_net: NetTerms
    cost_augmented: Optional[NetTerms]
    gold_energy: Optional[torch.Tensor]
