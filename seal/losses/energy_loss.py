from dataclasses import dataclass
from typing import Optional, Union

import torch

from seal.output_spaces import Candidates, OutputSpace
from seal.registry import Registrable
from seal.scores import Cost, Score


@dataclass
class Comparison:
    """
    What an energy loss is given of a batch: gold and its candidates, with their energies.

    # Parameters

    gold_energy : `torch.Tensor`, `(batch,)`
        The energy of gold.
    energy : `torch.Tensor`, `(batch, samples)`
        The energy of each candidate.
    candidates : `Candidates`
        The candidates, with their noise log-probabilities and counts.
    gold : `torch.Tensor`, `(batch, *output)`
    output_space : `OutputSpace`
    mask : `torch.BoolTensor`, optional
        `(batch, tokens)`, True at real tokens; `None` where all instances have one size.
    """

    gold_energy: torch.Tensor
    energy: torch.Tensor
    candidates: Candidates
    gold: torch.Tensor
    output_space: OutputSpace
    mask: Optional[torch.Tensor] = None

    def measured(self, measure: Union[Cost, Score]) -> torch.Tensor:
        """The cost or the score of each candidate against gold: `(batch, samples)`."""
        return measure(self.output_space, self.candidates.outputs, self.gold, self.mask)


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


@EnergyLoss.register("gold_energy")
class GoldEnergyLoss(EnergyLoss):
    """
    The energy of gold, `E(x, y)`, alone. Where the energy is a negative log-probability, as that of a tag language
    model (`type: 'tag_language_model'`, the loss-net's only term), this is maximum likelihood, which is how Tu &
    Gimpel (2018) train such a model before it is frozen. With an energy that is not normalised the loss is unbounded
    below.

    The candidates are not used: take the sampler `gold`.
    """

    def forward(self, comparison: Comparison) -> torch.Tensor:
        return comparison.gold_energy
