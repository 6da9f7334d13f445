import torch
from torch import nn

from seal.structure.joint_score import CandidateEnergy
from seal.structure.label_sets import AnyLabelSets


@CandidateEnergy.register("set_count")
class SetCount(CandidateEnergy[AnyLabelSets]):
    """
    `E(y) = -w log n(y)`, where `n(y)` is how often the set `y` occurs in the training data, and `E(y) = -u` where it
    does not.

    # Parameters

    num_labels : `int`
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.unseen = nn.Parameter(torch.zeros(()))

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        # Archives from before have known sets alone.
        state_dict.setdefault(prefix + "unseen", torch.zeros(()))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def forward(self, competing: AnyLabelSets) -> torch.Tensor:
        if competing.unseen:
            return -self.unseen
        return -self.weight * competing.log_counts
