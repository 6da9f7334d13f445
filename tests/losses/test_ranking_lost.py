"""Candidates far below the best: the loss is what it was, and their gradient is exactly 0."""

import math

import pytest
import torch

from seal.losses import Comparison, ContrastiveDivergenceLoss, RankingLoss
from seal.losses.ranking import LOST, log_total
from seal.output_spaces import Candidates
from seal.scores import L1Cost
from tests.spine import tag_sequence


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_nothing_is_lost_but_gradients_too_small_to_count(dtype):
    logits = torch.tensor([[0.0, -1.0, -39.0, -41.0, -300.0], [-500.0, -900.0, -501.0, -500.5, -2000.0]], dtype=dtype)
    logits.requires_grad_(True)
    total = log_total(logits)
    assert torch.allclose(total, logits.logsumexp(dim=1), rtol=0, atol=1e-15)
    (gradient,) = torch.autograd.grad(total.sum(), logits)
    (expected,) = torch.autograd.grad(logits.logsumexp(dim=1).sum(), logits)
    lost = torch.tensor([[False] * 3 + [True] * 2, [False, True, False, False, True]])
    assert gradient[lost].tolist() == [0] * 4 and expected[lost].max() < 2e-18
    # The others keep theirs, that of e^-39 as well.
    assert torch.allclose(gradient[~lost], expected[~lost], rtol=1e-6, atol=0)
    # None is so small that a processor takes its slow way with it.
    small = gradient[gradient > 0].min()
    assert small > 1e-20 and LOST < 50


@pytest.mark.parametrize("loss", [RankingLoss(), ContrastiveDivergenceLoss(L1Cost())])
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_small_gradients_of_the_losses(loss, dtype):
    """Candidates 10, 25 and 39 nats below gold, by the closed form; a cost lifts none of them, being gold's own."""
    energy = torch.tensor([[10.0, 25.0, 39.0]], dtype=dtype, requires_grad=True)
    gold, space = torch.zeros(1, 2, dtype=torch.long), tag_sequence(2)
    value = loss(Comparison(torch.zeros(1, dtype=dtype), energy, Candidates(gold.expand(1, 3, 2)), gold, space))
    (gradient,) = torch.autograd.grad(value.sum(), energy)
    weights = [math.exp(-nats) for nats in (10, 25, 39)]
    assert gradient[0].tolist() == pytest.approx([-w / (1 + sum(weights)) for w in weights], rel=1e-6, abs=0)


def test_fillers():
    """A log-count of minus infinity stays one."""
    logits = torch.tensor([[0.0, -torch.inf]], requires_grad=True)
    (gradient,) = torch.autograd.grad(log_total(logits).sum(), logits)
    assert gradient.tolist() == [[1.0, 0.0]]
