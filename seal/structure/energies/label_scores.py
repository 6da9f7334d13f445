import torch
from torch import nn

from seal.structure.joint_score import CandidateEnergy
from seal.structure.label_sets import AnyLabelSets


@CandidateEnergy.register("label_scores")
class LabelScores(CandidateEnergy[AnyLabelSets]):
    """
    `E(x, y) = -sum_l y_l (a_l z_l + b_l)` with the task-net's log-odds `z`: some labels' scores deserve more trust than
    others, and some labels are found too seldom.

    # Parameters

    num_labels : `int`
    scales : `bool`, optional (default = `True`)
        Whether there are scales `a`; else biases `b` alone.
    """

    def __init__(self, num_labels: int, scales: bool = True) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(num_labels))
        self.scale = nn.Parameter(torch.zeros(num_labels)) if scales else None

    def forward(self, competing: AnyLabelSets) -> torch.Tensor:
        if self.scale is None:
            return -competing.product(self.bias)
        return -competing.product(self.scale * competing.logits + self.bias)
