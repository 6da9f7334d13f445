from typing import Optional

import torch
from allennlp.common import Registrable

from seal.output_spaces import Candidates, OutputSpace
from seal.scores import Cost


class EnergyLoss(torch.nn.Module, Registrable):
    """
    `L_E`, which trains the loss-net: it compares the energies of an instance's candidates with that of gold.
    Candidates are constants in alternating training, and the only gradients are those of the energies. In
    implicit training they are functions of the task-net, and so are costs and scores of theirs.
    """

    #: True where the loss is only right with `log P_N` of every candidate.
    needs_noise_log_prob: bool = False
    #: True where candidates must be `RewardedCandidates`.
    needs_rewards: bool = False
    #: `Delta`, where the loss has one.
    cost: Optional[Cost] = None

    def forward(
        self,
        gold_energy: torch.Tensor,
        energy: torch.Tensor,
        candidates: Candidates,
        gold: torch.Tensor,
        output_space: OutputSpace,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        # Parameters

        gold_energy : `torch.Tensor`, `(batch,)`
        energy : `torch.Tensor`, `(batch, samples)`
        candidates : `Candidates`
            What the energies belong to, with their noise log-probabilities and weights.
        gold : `torch.Tensor`, `(batch, *output)`
        mask : `torch.BoolTensor`, optional

        # Returns

        `torch.Tensor`, `(batch,)`: the loss of each instance, before the mean over the batch.
        """
        raise NotImplementedError
