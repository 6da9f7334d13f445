import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients import Curvature, ExactInverse
from tests.hypergradients.bilevel import positive_definite, relative_error


@pytest.mark.parametrize("size", [1, 5, 500])
@pytest.mark.parametrize("condition", [1, 1e3, 1e6])
def test_against_a_direct_solve(size, condition):
    matrix, rhs = positive_definite(size, condition)
    found = ExactInverse(tolerance=1e-9).solve(Curvature.of_matrix(matrix), rhs)
    assert found.converged and found.steps == size and found.products == size + 1
    assert relative_error(found.solution, torch.linalg.solve(matrix, rhs)) < 1e-14 * condition * 10 + 1e-13
    assert found.curvature == pytest.approx((1 / condition if size > 1 else 1, 1), rel=1e-8)


def test_damping():
    matrix, rhs = positive_definite(30, 1e6)
    found = ExactInverse(damping=0.2).solve(Curvature.of_matrix(matrix), rhs)
    expected = torch.linalg.solve(matrix + 0.2 * torch.eye(30, dtype=torch.double), rhs)
    assert relative_error(found.solution, expected) < 1e-12
    assert found.curvature == pytest.approx((1e-6, 1), rel=1e-6)


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


def test_too_large():
    with pytest.raises(ConfigurationError, match="at most max_steps = 4 parameters squared, not 5"):
        ExactInverse(max_steps=4).solve(Curvature.of_matrix(torch.eye(5)), torch.ones(5))
