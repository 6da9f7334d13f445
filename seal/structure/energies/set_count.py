import torch
from torch import nn

from seal.structure.joint_score import CandidateEnergy
from seal.structure.label_sets import CompetingLabelSets


@CandidateEnergy.register("set_count")
class SetCount(CandidateEnergy):
    """
    `E(y) = -w log n(y)`, where `n(y)` is how often the set `y` occurs in the training data.

    # Parameters

    num_labels : `int`
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))

    def forward(self, competing: CompetingLabelSets) -> torch.Tensor:
        return -self.weight * competing.log_counts
