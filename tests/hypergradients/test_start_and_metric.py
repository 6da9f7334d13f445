"""A system that is solved from a guess, and in another geometry than the Euclidean one."""

import pytest
import torch

from seal.hypergradients import (
    ConjugateGradient,
    Curvature,
    ExactInverse,
    MinimalResidual,
    NeumannSeries,
    hypergradient,
)
from tests.hypergradients.bilevel import A, B, exact_solution, positive_definite, quadratic, relative_error

METHODS = pytest.mark.parametrize("solver", [ConjugateGradient, MinimalResidual, NeumannSeries])


@METHODS
def test_a_near_start_leaves_less_in_as_many_steps(solver):
    matrix, _ = positive_definite(30, 1e3)
    rhs = torch.linspace(-1, 2, 30, dtype=torch.double)
    noise = torch.randn(30, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    start = exact_solution(matrix, rhs) + 1e-2 * noise
    cold, warm = (solver(max_steps=4).solve(Curvature.of_matrix(matrix), rhs, first) for first in (None, start))
    assert warm.residual < 0.3 * cold.residual and warm.products == cold.products + 1
    left = matrix @ warm.solution - rhs
    assert warm.residual == pytest.approx(float(left.norm() / rhs.norm()), rel=1e-6)


@METHODS
def test_to_convergence_the_start_does_not_matter(solver):
    matrix, rhs = positive_definite(8, 10)
    start = 0.5 * exact_solution(matrix, rhs)
    found = solver(tolerance=1e-10, max_steps=400).solve(Curvature.of_matrix(matrix), rhs, start)
    assert found.converged and relative_error(found.solution, exact_solution(matrix, rhs)) < 1e-8


@METHODS
def test_a_start_that_solves_it_is_the_solution(solver):
    matrix, rhs = positive_definite(8, 10)
    exact = exact_solution(matrix, rhs)
    found = solver().solve(Curvature.of_matrix(matrix), 1e6 * rhs, 1e6 * exact)
    assert found.steps == 0 and found.products == 1 and found.converged
    assert torch.allclose(found.solution, 1e6 * exact, rtol=1e-12)


@METHODS
@pytest.mark.parametrize("factor", [-3.0, 0.0, torch.inf])
def test_a_start_that_is_worse_than_none_is_left(solver, factor):
    matrix, rhs = positive_definite(8, 10)
    start = factor * exact_solution(matrix, rhs)
    cold, found = (solver(max_steps=3).solve(Curvature.of_matrix(matrix), rhs, first) for first in (None, start))
    assert torch.equal(found.solution, cold.solution) and found.residual == cold.residual < 1


def test_the_metric_weighs_the_damping():
    """On the quadratic problem, by its matrices: `-J^T (H + damping D)^-1 v` with `J = -B`."""
    given, weights = quadratic((0.5, -2.0)), torch.tensor([0.2, 3.0], dtype=torch.double)
    v = given.theta.detach() - torch.tensor([0.5, -2.0], dtype=torch.double)
    for damping in (0.0, 0.7):
        solution = torch.linalg.solve(A + damping * torch.diag(weights), v)
        for solver in (ExactInverse(damping=damping), ConjugateGradient(damping=damping, tolerance=1e-12)):
            found = hypergradient(*given.parts, solver, metric={"theta": weights})
            assert torch.allclose(found.implicit["psi"], B.T @ solution, atol=1e-10)
            assert torch.allclose(found.solution["theta"], solution, atol=1e-10)


def test_a_solution_is_a_start_in_the_same_metric():
    given, weights = quadratic((0.5, -2.0)), torch.tensor([0.2, 3.0], dtype=torch.double)
    solver = ConjugateGradient(damping=0.7, tolerance=1e-8)
    first = hypergradient(*given.parts, solver, metric={"theta": weights})
    again = hypergradient(*given.parts, solver, metric={"theta": weights}, start=first.solution)
    assert first.report.steps > 0 == again.report.steps and again.report.products == 1
    assert torch.allclose(first.gradient["psi"], again.gradient["psi"], atol=1e-7)


def test_scaled_gradients_of_examples():
    rows = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    scale = torch.tensor([1.0, 2.0, 0.5, 3.0], dtype=torch.double)
    curvature = Curvature.of_matrix(rows.T @ rows, example_gradients=lambda: rows).scaled(scale)
    of_examples = curvature.example_gradients()
    assert torch.allclose(of_examples.T @ of_examples, torch.diag(scale) @ rows.T @ rows @ torch.diag(scale))
    assert torch.allclose(curvature.product(scale), of_examples.T @ (of_examples @ scale))
