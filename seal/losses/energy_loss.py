from typing import Optional

import torch

from seal.losses.comparison import Comparison
from seal.registry import Registrable
from seal.scores import Cost


class EnergyLoss(torch.nn.Module, Registrable):
    """
    The loss `L_E`, which trains the loss-net: it compares the energies of an instance's candidates with that of gold.
    In alternating training the candidates are constants, and gradients flow through the energies alone. In implicit
    training the candidates are functions of the task-net, and so are their costs; the score of `regression`, its
    target, is a constant by default.
    """

    #: True where the loss needs `log P_N` of every candidate.
    needs_noise_log_prob: bool = False
    #: True where candidates must be `RewardedCandidates`.
    needs_rewards: bool = False
    #: `Delta`, where the loss has one.
    cost: Optional[Cost] = None

    def forward(self, comparison: Comparison) -> torch.Tensor:
        """
        # Returns

        `torch.Tensor`, `(batch,)`: the loss of each instance, before the mean over the batch.
        """
        raise NotImplementedError
