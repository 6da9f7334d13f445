import torch
from torch import nn

from seal.common.setting_checks import needed
from seal.structure.joint_score import CandidateEnergy
from seal.structure.label_sets import AnyLabelSets


@CandidateEnergy.register("powerset")
class Powerset(CandidateEnergy[AnyLabelSets]):
    """
    `E(x, y) = -w log P'(y|x)` with the probability that a classifier of whole sets, whose classes are the label sets of
    its training data, gives to the set; `E(x, y) = -u` for a set that is no class. Needs `ClassifierScores` with these
    probabilities. The parameters have no prior: a strongly regularised classifier's probabilities are so much alike
    that they need large ones.

    # Parameters

    num_labels : `int`
    """

    without_prior = ("weight", "no_class")

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.no_class = nn.Parameter(torch.zeros(()))

    def forward(self, competing: AnyLabelSets) -> torch.Tensor:
        if competing.unseen:
            return -self.no_class
        log_prob = needed(competing.set_log_prob, "log_prob of ClassifierScores, by the energy 'powerset',")
        absent = log_prob.isnan()
        return -torch.where(absent, self.no_class, self.weight * log_prob.masked_fill(absent, 0.0))
