import math
from dataclasses import dataclass

import pytest
import torch
from torch import nn

from seal.structure.joint_score import CandidateEnergy, JointScore, mask_rule_breakers


@dataclass
class Outputs:
    log_prob: torch.Tensor
    values: torch.Tensor
    gold: torch.Tensor

    def with_gold(self):
        return self

    def parts(self):
        return [self]


class Linear(CandidateEnergy):
    """`E(y) = w v(y)`."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))

    def forward(self, candidates):
        return self.weight * candidates.values


def outputs(rows=400, candidates=4, weight=-1.5, scale=0.6, seed=0):
    """Gold is drawn from the joint score with the given weight and scale."""
    generator = torch.Generator().manual_seed(seed)
    log_prob = torch.randn(rows, candidates, generator=generator).mul(2).log_softmax(dim=1)
    values = torch.randn(rows, candidates, generator=generator)
    q = (scale * log_prob - weight * values).softmax(dim=1)
    return Outputs(log_prob, values, torch.multinomial(q, 1, generator=generator).squeeze(1))


def test_the_probabilities_are_a_softmax_over_those_that_are_there():
    joint = JointScore([Linear()])
    with torch.no_grad():
        joint.scale.fill_(0.5)
        joint.energies[0].weight.fill_(2.0)
    part = Outputs(torch.tensor([[-1.0, -2.0, -torch.inf]]), torch.tensor([[0.3, -0.4, 100.0]]), torch.tensor([1]))
    scores = torch.tensor([-0.5 - 0.6, -1.0 + 0.8]).exp()
    assert joint.probabilities(part)[0].tolist() == pytest.approx([*(scores / scores.sum()).tolist(), 0.0])
    assert float(joint.loss(part)) == pytest.approx(float(-(scores[1] / scores.sum()).log()))


def test_gold_that_does_not_compete_adds_nothing():
    joint, part = JointScore([Linear()]), outputs(rows=5)
    whole = joint.loss(part)
    part.gold[2] = -1
    alone = Outputs(part.log_prob[2:3], part.values[2:3], outputs(rows=5).gold[2:3])
    assert float(joint.loss(part)) == pytest.approx(float(whole - joint.loss(alone)), rel=1e-5)


def test_no_gap_of_scores_beats_what_is_broken_least():
    score = torch.tensor([[0.0, -1e8, -2e8], [3.0, -torch.inf, 1.0], [5.0, 4.0, 3.0]])
    broken = torch.tensor([[2, 1, 1], [1, 0, 1], [0, 3, 0]])
    probabilities = mask_rule_breakers(score, broken).softmax(dim=1)
    expected = torch.tensor([[0.0, 1.0, 0.0], [math.exp(2) / (1 + math.exp(2)), 0.0, 1 / (1 + math.exp(2))]])
    torch.testing.assert_close(probabilities[:2], expected)
    torch.testing.assert_close(probabilities[2, [0, 2]], expected[1, [0, 2]])
