from typing import Optional

import torch

from seal.losses.energy_loss import EnergyLoss
from seal.output_spaces import Candidates, OutputSpace


@EnergyLoss.register("gold_energy")
class GoldEnergyLoss(EnergyLoss):
    """
    The energy of gold, `E(x, y)`, alone. Where the energy is a negative log-probability, as that of a tag language
    model (`type: 'tag_language_model'`, the loss-net's only term), this is maximum likelihood, which is how Tu &
    Gimpel (2018) train such a model before it is frozen. With an energy that is not normalised the loss is unbounded
    below.

    The candidates are not used: take the sampler `gold`.
    """

    def forward(
        self,
        gold_energy: torch.Tensor,
        energy: torch.Tensor,
        candidates: Candidates,
        gold: torch.Tensor,
        output_space: OutputSpace,
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        return gold_energy
