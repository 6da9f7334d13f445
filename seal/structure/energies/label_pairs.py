import torch
from torch import nn

from seal.common.setting_checks import check_range
from seal.structure.joint_score import CandidateEnergy
from seal.structure.label_sets import AnyLabelSets


@CandidateEnergy.register("label_pairs")
class LabelPairs(CandidateEnergy[AnyLabelSets]):
    """
    `E(y) = -sum_{i<j} y_i y_j u_i' D u_j` with vectors `u` of a low dimension and signs `D`, half of them -1, so that
    labels can attract and repel each other.

    # Parameters

    num_labels : `int`
    rank : `int`, optional (default = `8`)
        The dimension of the vectors, even.
    """

    factors = ("vectors",)
    signs: torch.Tensor

    def __init__(self, num_labels: int, rank: int = 8) -> None:
        super().__init__()
        check_range("structure.energies: the rank of 'label_pairs'", rank, least=1)
        self.vectors = nn.Parameter(torch.zeros(num_labels, rank))
        signs = torch.ones(rank)
        signs[rank // 2 :] = -1
        self.register_buffer("signs", signs, persistent=False)

    def forward(self, competing: AnyLabelSets) -> torch.Tensor:
        # sum_{i<j} = (|sum_i y_i u_i|^2 - sum_i y_i |u_i|^2) / 2, y being 0 or 1.
        whole = (competing.sets @ self.vectors).square() @ self.signs
        alone = competing.product(self.vectors.square() @ self.signs)
        return (alone - whole) / 2
