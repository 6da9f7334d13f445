"""Energies of label sets."""

from dataclasses import dataclass

import torch
from torch import nn

from seal.common.setting_checks import check_whole, require
from seal.structure.joint_score import CandidateEnergy
from seal.structure.label_sets import AnyLabelSets, LabelSetCandidates, LikelySets, log_of_counts


@dataclass
class Terms:
    """
    `-E(x, y)` over known label sets, as a sum of factored terms:

    `-E(x, y) = sum_l y_l u_l(x) + v(y) + sum_k c_k M_k(x, y) + [y = gold] g(x)`.

    # Parameters

    labels : `torch.Tensor`, `(labels,)` or `(batch, labels)`, optional
        `u`.
    sets : `torch.Tensor`, `(candidates,)`, optional
        `v`.
    gold : `torch.Tensor`, `(batch,)`, optional
        `g`, which corrects the score of gold for counts that leave out the instance's group.
    matrices : `tuple`, optional
        Pairs of a scalar `c` and a constant `M`, `(batch, candidates)`.
    """

    labels: torch.Tensor | None = None
    sets: torch.Tensor | None = None
    gold: torch.Tensor | None = None
    matrices: tuple[tuple[torch.Tensor, torch.Tensor], ...] = ()

    def __add__(self, other: "Terms") -> "Terms":
        return Terms(
            _sum(self.labels, other.labels),
            _sum(self.sets, other.sets),
            _sum(self.gold, other.gold),
            self.matrices + other.matrices,
        )


def _sum(one: torch.Tensor | None, other: torch.Tensor | None) -> torch.Tensor | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other


class LabelSetEnergy(CandidateEnergy[AnyLabelSets]):
    """The base of energies of label sets. `LabelSetObjective` computes their loss from `Terms`."""

    def terms(self, candidates: LabelSetCandidates) -> Terms:
        """`-E(x, y)` of the known sets, for batches without likely sets."""
        raise NotImplementedError


@CandidateEnergy.register("label_scores")
class LabelScores(LabelSetEnergy):
    """
    `E(x, y) = -sum_l y_l (a_l z_l + b_l)` with the task-net's log-odds `z`: a scale and a bias for each label.

    # Parameters

    num_labels : `int`
    scales : `bool`, optional (default = `True`)
        Whether to learn the scales `a`; without them, `a = 0`.
    """

    def __init__(self, num_labels: int, scales: bool = True) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(num_labels))
        self.scale = nn.Parameter(torch.zeros(num_labels)) if scales else None

    def forward(self, candidates: AnyLabelSets) -> torch.Tensor:
        if self.scale is None:
            return -candidates.product(self.bias)
        return -candidates.product(self.scale * candidates.logits + self.bias)

    def terms(self, candidates: LabelSetCandidates) -> Terms:
        return Terms(labels=self.bias if self.scale is None else self.scale * candidates.logits + self.bias)


@CandidateEnergy.register("label_pairs")
class LabelPairs(LabelSetEnergy):
    """
    `E(y) = -sum_{i<j} y_i y_j u_i' D u_j`: a score for each pair of labels, of low rank. `u_i` is a learned vector of
    each label, and `D` a diagonal matrix of signs, half of them -1, so that labels can attract and repel each other.

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

    def forward(self, candidates: AnyLabelSets) -> torch.Tensor:
        # sum_{i<j} = (|sum_i y_i u_i|^2 - sum_i y_i |u_i|^2) / 2, as y is 0 or 1.
        square_of_sum = (candidates.sets @ self.vectors).square() @ self.signs
        sum_of_squares = candidates.product(self.vectors.square() @ self.signs)
        return (sum_of_squares - square_of_sum) / 2

    def terms(self, candidates: LabelSetCandidates) -> Terms:
        return Terms(sets=-self(candidates))


@CandidateEnergy.register("set_size")
class SetSize(LabelSetEnergy):
    """
    `E(y) = u_{|y|}`: a parameter for each number of labels.

    # Parameters

    num_labels : `int`
    most : `int`, optional (default = `20`)
        All larger sets share the parameter of this size.
    """

    def __init__(self, num_labels: int, most: int = 20) -> None:
        super().__init__()
        check_whole("structure.energies: the most of 'set_size'", most, least=0)
        self.of_size = nn.Parameter(torch.zeros(min(most, num_labels) + 1))

    def forward(self, candidates: AnyLabelSets) -> torch.Tensor:
        return self.of_size[candidates.sizes().clamp(max=len(self.of_size) - 1)]

    def terms(self, candidates: LabelSetCandidates) -> Terms:
        return Terms(sets=-self(candidates))


@CandidateEnergy.register("set_count")
class SetCount(LabelSetEnergy):
    """
    `E(y) = -w log n(y)` for a set `y` that occurs `n(y)` times in the training data, and `E(y) = -u` for other sets.

    # Parameters

    num_labels : `int`
    """

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.unseen = nn.Parameter(torch.zeros(()))

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        # Older archives have no parameter for unseen sets.
        state_dict.setdefault(prefix + "unseen", torch.zeros(()))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def forward(self, candidates: AnyLabelSets) -> torch.Tensor:
        if candidates.unseen:
            return -self.unseen
        return -self.weight * candidates.log_counts

    def terms(self, candidates: LabelSetCandidates) -> Terms:
        logs = log_of_counts(candidates.counts)
        left_out = candidates.log_counts_of_gold
        if left_out is None:
            return Terms(sets=self.weight * logs)
        return Terms(sets=self.weight * logs, gold=self.weight * (left_out - logs[require(candidates.gold, "gold")]))


@CandidateEnergy.register("powerset")
class Powerset(LabelSetEnergy):
    """
    `E(x, y) = -w log P'(y|x)`, where `P'` is the probability under a classifier of whole sets, whose classes are the
    label sets of its training data; `E(x, y) = -u` for a set that is not a class. Needs the `log_prob` of
    `ClassifierScores`. The parameters have no L2 penalty: the probabilities of a strongly regularised classifier differ
    little, and need a large `w`.

    # Parameters

    num_labels : `int`
    """

    without_prior = ("weight", "no_class")

    def __init__(self, num_labels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.no_class = nn.Parameter(torch.zeros(()))

    def forward(self, candidates: AnyLabelSets) -> torch.Tensor:
        if isinstance(candidates, LikelySets):
            return -self.no_class
        known, absent = candidates.known_set_log_prob
        return -(self.weight * known + self.no_class * absent)

    def terms(self, candidates: LabelSetCandidates) -> Terms:
        known, absent = candidates.known_set_log_prob
        return Terms(matrices=((self.weight, known), (self.no_class, absent)))
