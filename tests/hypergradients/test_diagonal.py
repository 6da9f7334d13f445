import itertools

import pytest
import torch

from seal.hypergradients import Curvature, DiagonalHessian, hutchinson_diagonal
from tests.hypergradients.bilevel import A, positive_definite, relative_error


def test_oracle():
    """The average over all four sign vectors is the diagonal exactly; that of the first two is not."""
    signs = [torch.tensor(s, dtype=torch.double) for s in itertools.product((-1.0, 1.0), repeat=2)]
    assert hutchinson_diagonal(A.mv, signs).tolist() == [2, 2]
    assert hutchinson_diagonal(A.mv, signs[:1]).tolist() == [3, 3]


@pytest.mark.parametrize("size, probes", [(1, 1), (2, 2), (3, 4), (5, 8), (16, 20)])
def test_exact_with_enough_probes(size, probes):
    matrix, rhs = positive_definite(size, 100)
    found = DiagonalHessian(damping=0.1, max_steps=probes).solve(Curvature.of_matrix(matrix), rhs)
    assert torch.allclose(found.solution, rhs / (matrix.diagonal() + 0.1), rtol=1e-12)
    assert found.steps <= probes and found.products == found.steps + 1


@pytest.mark.parametrize("size", [5, 500])
def test_a_diagonal_matrix_against_a_direct_solve(size):
    diagonal = torch.logspace(0, -6, size, dtype=torch.double)
    rhs = torch.linspace(-1, 2, size, dtype=torch.double)
    found = DiagonalHessian(max_steps=1).solve(Curvature.of_matrix(torch.diag(diagonal)), rhs)
    assert found.converged and found.steps == 1
    assert relative_error(found.solution, torch.linalg.solve(torch.diag(diagonal), rhs)) < 1e-12


def test_random_probes_come_near():
    torch.manual_seed(0)
    matrix, rhs = positive_definite(100, 3)

    def error(probes):
        found = DiagonalHessian(max_steps=probes).solve(Curvature.of_matrix(matrix), rhs)
        return relative_error(found.solution, rhs / matrix.diagonal())

    assert error(90) < 0.1 < error(2)


def test_off_the_diagonal_it_says_how_wrong_it_is():
    found = DiagonalHessian(max_steps=2).solve(Curvature.of_matrix(A), torch.ones(2).double())
    assert found.solution.tolist() == [0.5, 0.5] and found.residual == pytest.approx(0.5)
    assert not found.converged and "lies off the diagonal" in found.status


@pytest.mark.parametrize("nothing", [0.0, 1e-8])
def test_elements_that_are_not_above_zero(nothing):
    """Or are by less than what rounding leaves beside the largest."""
    matrix = torch.diag(torch.tensor([2.0, nothing, -1.0]))
    found = DiagonalHessian(max_steps=4).solve(Curvature.of_matrix(matrix), torch.ones(3))
    assert found.solution.tolist() == [0.5, 0, 0]
    assert "2 of 3 diagonal elements are not above 0" in found.status and "raise damping" in found.status
    assert DiagonalHessian(2.0, max_steps=4).solve(Curvature.of_matrix(matrix), torch.ones(3)).converged
