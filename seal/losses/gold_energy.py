from typing import Optional

import torch

from seal.losses.energy_loss import EnergyLoss
from seal.output_spaces import Candidates, OutputSpace


@EnergyLoss.register("gold_energy")
class GoldEnergyLoss(EnergyLoss):
    """
    `E(x, y)` of gold alone. Where the energy is a negative log-probability, as that of a tag language model (`type:
    'tag_language_model'`, the loss-net's only term), this is maximum likelihood, which is how Tu & Gimpel (2018)
    train such a model before it is frozen (EN10). Any other energy it lowers without end.

    The candidates play no part: take the sampler `gold`.
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
