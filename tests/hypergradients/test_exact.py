import pytest
import torch

from seal.hypergradients import Curvature, ExactInverse
from tests.hypergradients.bilevel import exact_solution, positive_definite, relative_error


def test_damping():
    """The curvature that it tells is without it."""
    matrix, rhs = positive_definite(30, 1e6)
    found = ExactInverse(damping=0.2).solve(Curvature.of_matrix(matrix), rhs)
    assert relative_error(found.solution, exact_solution(matrix, rhs, 0.2)) < 1e-12
    assert found.curvature == pytest.approx((1e-6, 1), rel=1e-6) and found.steps == 30 and found.products == 31


def test_negative_and_flat_directions_are_told():
    matrix = torch.diag(torch.tensor([2.0, -4.0]))
    found = ExactInverse().solve(Curvature.of_matrix(matrix), torch.ones(2))
    assert found.solution.tolist() == [0.5, -0.25] and found.converged
    assert "1 of 2 eigenvalues are negative" in found.status and "above 4" in found.status
    assert found.curvature == (-4, 2)
    matrix = torch.diag(torch.tensor([2.0, 0.0]))
    found = ExactInverse().solve(Curvature.of_matrix(matrix), torch.ones(2))
    assert found.solution.tolist() == [0.5, 0] and not found.converged
    assert "1 of 2 directions have no curvature" in found.status


def test_curvature_that_is_only_rounding_counts_as_none():
    row = torch.tensor([0.1, 0.2, 0.7], dtype=torch.double)
    across = torch.tensor([2.0, -1.0, 0.0], dtype=torch.double)
    found = ExactInverse().solve(Curvature.of_matrix(torch.outer(row, row)), row + across)
    assert torch.allclose(found.solution, row / 0.54, rtol=1e-12)
    assert "2 of 3 directions have no curvature" in found.status
