import torch

from seal.losses.comparison import Comparison
from seal.losses.energy_loss import EnergyLoss


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
