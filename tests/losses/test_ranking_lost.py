"""Candidates far below the best: the loss is what it was, and their gradient is exactly 0."""

import pytest
import torch

from seal.losses.ranking import LOST, log_total


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_nothing_is_lost_but_gradients_too_small_to_count(dtype):
    ranks = torch.tensor([[0.0, -1.0, -39.0, -41.0, -300.0], [-500.0, -900.0, -501.0, -500.5, -2000.0]], dtype=dtype)
    ranks.requires_grad_(True)
    total = log_total(ranks)
    assert torch.allclose(total, ranks.logsumexp(dim=1), rtol=0, atol=1e-15)
    (gradient,) = torch.autograd.grad(total.sum(), ranks)
    (expected,) = torch.autograd.grad(ranks.logsumexp(dim=1).sum(), ranks)
    assert torch.allclose(gradient, expected, rtol=0, atol=1e-17)
    assert gradient[0, 3:].tolist() == [0, 0] and gradient[1, [1, 4]].tolist() == [0, 0]
    # None is so small that a processor takes its slow way with it.
    small = gradient[gradient > 0].min()
    assert small > 1e-20 and LOST < 50


def test_fillers():
    """A log-count of minus infinity stays one."""
    ranks = torch.tensor([[0.0, -torch.inf]], requires_grad=True)
    (gradient,) = torch.autograd.grad(log_total(ranks).sum(), ranks)
    assert gradient.tolist() == [[1.0, 0.0]]
