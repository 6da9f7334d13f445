import pytest
import torch

from seal.hypergradients import Curvature, ShermanMorrison
from tests.hypergradients.bilevel import exact_solution, positive_definite, relative_error


def curvature_of(rows, matrix=None):
    return Curvature.of_matrix(rows.T @ rows if matrix is None else matrix, example_gradients=lambda: rows)


def test_oracle():
    rows = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.double)
    for unit, column in zip(torch.eye(2).double(), ([0.4, -0.2], [-0.2, 0.6])):
        found = ShermanMorrison(damping=1.0, average=False).solve(curvature_of(rows), unit)
        assert found.solution.tolist() == pytest.approx(column, abs=1e-14)
        assert found.converged and found.steps == 2 and found.products == 1


@pytest.mark.parametrize("size, examples", [(1, 3), (20, 5), (500, 500), (500, 700)])
@pytest.mark.parametrize("average", [False, True])
def test_against_a_direct_solve(size, examples, average):
    torch.manual_seed(0)
    rows = torch.randn(examples, size, dtype=torch.double)
    matrix = rows.T @ rows / (examples if average else 1)
    rhs = torch.randn(size, dtype=torch.double)
    found = ShermanMorrison(damping=0.01, average=average).solve(curvature_of(rows, matrix), rhs)
    assert relative_error(found.solution, exact_solution(matrix, rhs, 0.01)) < 1e-8 and found.converged


def test_the_inner_loss_is_a_mean_unless_told_otherwise():
    rows, rhs = torch.tensor([[1.0], [3.0]], dtype=torch.double), torch.ones(1).double()
    for settings, curvature in (({}, 5.0), ({"average": False}, 10.0)):
        found = ShermanMorrison(**settings).solve(curvature_of(rows, torch.tensor([[curvature]]).double()), rhs)
        assert found.solution.tolist() == pytest.approx([1 / (1 + curvature)]) and found.converged


def test_condition_of_a_million():
    matrix, rhs = positive_definite(500, 1e6)
    rows = torch.linalg.cholesky(matrix).T
    found = ShermanMorrison(damping=1e-7, average=False).solve(curvature_of(rows, matrix), rhs)
    assert found.converged and relative_error(found.solution, exact_solution(matrix, rhs, 1e-7)) < 1e-6


def test_the_residual_is_of_the_true_hessian():
    rows = torch.tensor([[1.0, 0.0]], dtype=torch.double)
    found = ShermanMorrison().solve(curvature_of(rows, 3 * torch.eye(2).double()), torch.ones(2).double())
    assert found.solution.tolist() == [0.5, 1.0] and not found.converged
    # (4 / 2 - 1, 4 - 1) against (1, 1)
    assert found.residual == pytest.approx((10 / 2) ** 0.5) and "another matrix than the Hessian" in found.status


def test_too_many_examples():
    rows = torch.tensor([[1.0], [1.0], [2.0]], dtype=torch.double)
    found = ShermanMorrison(average=False, max_steps=2).solve(curvature_of(rows), torch.ones(1).double())
    assert found.solution.tolist() == pytest.approx([1 / 3]) and found.steps == 2
    assert "1 of 3 examples are left out: raise max_steps" in found.status


def test_the_mean_is_over_the_examples_that_are_taken():
    rows = torch.tensor([[1.0], [3.0], [7.0]], dtype=torch.double)
    found = ShermanMorrison(max_steps=2).solve(curvature_of(rows), torch.ones(1).double())
    assert found.solution.tolist() == pytest.approx([1 / (1 + 5)])
