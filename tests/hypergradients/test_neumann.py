import pytest
import torch

from seal.hypergradients import Curvature, NeumannSeries, ScaledIdentity
from tests.hypergradients.bilevel import exact_solution, positive_definite, relative_error


@pytest.mark.parametrize("size", [1, 5, 500])
@pytest.mark.parametrize("divisor", ["auto", 1.0])
def test_against_a_direct_solve(size, divisor):
    matrix, rhs = positive_definite(size, 100)
    solver = NeumannSeries(divisor, tolerance=1e-9, max_steps=5000)
    found = solver.solve(Curvature.of_matrix(matrix), rhs)
    assert found.converged and found.residual <= 1e-9
    assert relative_error(found.solution, exact_solution(matrix, rhs)) < 1e-7


def test_ill_conditioned_it_stops_early_and_says_so():
    matrix, rhs = positive_definite(500, 1e6)
    found = NeumannSeries(max_steps=300).solve(Curvature.of_matrix(matrix), rhs)
    assert not found.converged and found.steps == 300
    assert found.residual == pytest.approx(relative_error(matrix @ found.solution, rhs), rel=1e-9)
    assert "after 300 steps: raise max_steps (now 300)" in found.status
    damped = NeumannSeries(damping=0.1, max_steps=300).solve(Curvature.of_matrix(matrix), rhs)
    assert damped.converged and relative_error(damped.solution, exact_solution(matrix, rhs, 0.1)) < 2e-3


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_a_direction_without_curvature_is_no_divergence(dtype):
    """Its terms neither shrink nor grow, but for rounding."""
    for seed in range(5):
        torch.manual_seed(seed)
        basis = torch.linalg.qr(torch.randn(10, 10, dtype=torch.double)).Q
        matrix = basis @ torch.diag(torch.tensor([0.0] + 9 * [0.75]).double()) @ basis.T
        found = NeumannSeries(1.5, tolerance=0.0, max_steps=100).solve(
            Curvature.of_matrix(matrix.to(dtype)), torch.randn(10, dtype=dtype)
        )
        assert found.steps == 100 and "grow" not in found.status


@pytest.mark.parametrize("terms", [0, 1, 2, 6])
def test_truncation_error_along_each_eigenvector(terms):
    eigenvalues = torch.tensor([0.5, 1.0, 2.0, 5.0], dtype=torch.double)
    found = NeumannSeries(4.0, tolerance=0, max_steps=terms).solve(
        Curvature.of_matrix(torch.diag(eigenvalues)), torch.ones(4, dtype=torch.double)
    )
    expected = (1 - (1 - eigenvalues / 4) ** (terms + 1)) / eigenvalues
    assert torch.allclose(found.solution, expected, rtol=1e-13)
    assert found.steps == terms and found.products == terms + 1


def test_it_ends_at_the_tolerance():
    # Each term is half of the last; after `k` terms 0.5 ** (k + 1) is left.
    solver = NeumannSeries(2.0, tolerance=0.01, max_steps=50)
    found = solver.solve(Curvature.of_matrix(torch.eye(3)), torch.ones(3))
    assert found.converged and found.steps == 7 and found.residual == pytest.approx(0.5**8)


def test_a_divisor_below_half_the_largest_eigenvalue():
    matrix = torch.diag(torch.tensor([3.0, 1.0]))
    found = NeumannSeries(1.0).solve(Curvature.of_matrix(matrix), torch.tensor([1.0, 0.0]))
    assert not found.converged and found.steps == 0
    assert "the divisor 1 is below half the largest eigenvalue (at least 3)" in found.status
    # The sum from before.
    assert found.solution.tolist() == [1, 0] and found.residual == 2
    assert NeumannSeries(3.0).solve(Curvature.of_matrix(matrix), torch.tensor([1.0, 0.0])).converged


def test_late_growth():
    """The large eigenvalue has a small share of the right-hand side: first the terms shrink."""
    matrix = torch.diag(torch.tensor([2.5, 0.5], dtype=torch.double))
    rhs = torch.tensor([0.01, 1.0], dtype=torch.double)
    found = NeumannSeries(1.0, max_steps=40).solve(Curvature.of_matrix(matrix), rhs)
    assert found.steps > 2 and "terms grow" in found.status and found.residual < 0.2
    whole = NeumannSeries(1.0, max_steps=40, stop_at_divergence=False).solve(Curvature.of_matrix(matrix), rhs)
    assert whole.steps == 40 and "terms grow" in whole.status and whole.residual > 1000


def test_negative_curvature():
    matrix = torch.diag(torch.tensor([1.0, -0.5]))
    found = NeumannSeries().solve(Curvature.of_matrix(matrix), torch.tensor([0.1, 1.0]))
    assert not found.converged and "negative curvature" in found.status and "raise damping" in found.status
    damped = NeumannSeries(damping=0.6, max_steps=500).solve(Curvature.of_matrix(matrix), torch.tensor([0.1, 1.0]))
    assert damped.converged and damped.solution.tolist() == pytest.approx([0.0625, 10.0], rel=1e-2)


def series(matrix, rhs, divisor, terms):
    """As in the equation."""
    term, total = rhs, torch.zeros_like(rhs)
    for _ in range(terms + 1):
        total = total + term / divisor
        term = term - matrix @ term / divisor
    return total


@pytest.mark.parametrize("terms", [0, 1, 5, 10, 11, 40])
@pytest.mark.parametrize("dtype, tolerance", [(torch.double, 1e-10), (torch.float, 1e-4)])
def test_a_divisor_that_is_found_costs_no_product(terms, dtype, tolerance):
    matrix, rhs = positive_definite(60, 100)
    damped = matrix + 0.3 * torch.eye(60, dtype=torch.double)
    solver = NeumannSeries(damping=0.3, tolerance=0, max_steps=terms, measure_residual=False)
    found = solver.solve(Curvature.of_matrix(matrix.to(dtype)), rhs.to(dtype))
    assert found.products == max(1, terms) and found.steps == terms and not found.has_problem
    # `1.1 (largest + damping)` of those that have shown.
    divisor = 1.1 * (found.curvature[1] + 0.3)
    if terms <= 10:
        expected = series(damped, rhs, divisor, terms)
        assert relative_error(found.solution.double(), expected) < tolerance
    if terms >= 5:
        assert divisor / 1.1 == pytest.approx(float(torch.linalg.eigvalsh(damped)[-1]), rel=0.05)


def test_a_found_divisor_is_that_of_the_first_products():
    """Terms beyond the space are summed as any others."""
    matrix, rhs = positive_definite(60, 100)
    found = NeumannSeries(lanczos_steps=4, tolerance=0, max_steps=30).solve(Curvature.of_matrix(matrix), rhs)
    short = NeumannSeries(lanczos_steps=4, tolerance=0, max_steps=4, measure_residual=False)
    divisor = 1.1 * short.solve(Curvature.of_matrix(matrix), rhs).curvature[1]
    assert torch.allclose(found.solution, series(matrix, rhs, divisor, 30), rtol=1e-9)


def test_a_space_that_closes_needs_no_more_products():
    matrix = torch.diag(torch.tensor([3.0, 3.0, 1.0], dtype=torch.double))
    rhs = torch.tensor([1.0, -2.0, 1.0], dtype=torch.double)
    found = NeumannSeries(tolerance=1e-10, max_steps=500).solve(Curvature.of_matrix(matrix), rhs)
    assert found.converged and found.products == 3
    assert torch.allclose(found.solution, rhs / matrix.diagonal(), rtol=1e-9)


def test_the_identity_is_the_series_without_terms():
    matrix, rhs = positive_definite(5, 10)
    found = ScaledIdentity(3.0).solve(Curvature.of_matrix(matrix), rhs)
    assert torch.allclose(found.solution, rhs / 3, rtol=1e-14) and found.steps == 0 and found.products == 1
    series = NeumannSeries(3.0, max_steps=0).solve(Curvature.of_matrix(matrix), rhs)
    assert torch.equal(found.solution, series.solution) and found.residual == series.residual
    assert found.residual == pytest.approx(relative_error(matrix @ rhs / 3, rhs))
    assert not found.converged and "not 3 times the identity" in found.status


def test_where_the_identity_is_right():
    found = ScaledIdentity(2.5, damping=0.5).solve(Curvature.of_matrix(2 * torch.eye(500)), torch.ones(500))
    assert found.converged and found.solution.tolist() == pytest.approx([0.4] * 500)
