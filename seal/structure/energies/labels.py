"""Energies of label sets."""

import torch
from torch import nn

from seal.common.setting_checks import check_whole, needed
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
        check_whole("structure.energies: the rank of 'label_pairs'", rank, least=1)
        self.vectors = nn.Parameter(torch.zeros(num_labels, rank))
        signs = torch.ones(rank)
        signs[rank // 2 :] = -1
        self.register_buffer("signs", signs, persistent=False)

    def forward(self, competing: AnyLabelSets) -> torch.Tensor:
        # sum_{i<j} = (|sum_i y_i u_i|^2 - sum_i y_i |u_i|^2) / 2, y being 0 or 1.
        whole = (competing.sets @ self.vectors).square() @ self.signs
        alone = competing.product(self.vectors.square() @ self.signs)
        return (alone - whole) / 2


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
        check_whole("structure.energies: the most of 'set_size'", most, least=0)
        self.of_size = nn.Parameter(torch.zeros(min(most, num_labels) + 1))

    def forward(self, competing: AnyLabelSets) -> torch.Tensor:
        return self.of_size[competing.sizes().clamp(max=len(self.of_size) - 1)]


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
