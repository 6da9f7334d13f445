import torch
from torch import nn

from seal.structure.joint_score import CandidateEnergy
from seal.structure.label_sets import AnyLabelSets


@CandidateEnergy.register("set_size")
class SetSize(CandidateEnergy[AnyLabelSets]):
    """
    `E(y) = u_{|y|}`: a parameter for each number of labels.

    # Parameters

    num_labels : `int`
    most : `int`, optional (default = `20`)
        Larger sets share a parameter.
    """

    def __init__(self, num_labels: int, most: int = 20) -> None:
        super().__init__()
        self.of_size = nn.Parameter(torch.zeros(min(most, num_labels) + 1))

    def forward(self, competing: AnyLabelSets) -> torch.Tensor:
        return self.of_size[competing.sizes().clamp(max=len(self.of_size) - 1)]
