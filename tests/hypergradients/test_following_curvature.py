"""Damping that follows the curvature met: `damping = max(damping, share * largest - least)` over the eigenvalues."""

import pytest
import torch

from seal.hypergradients import Curvature, MinimalResidual, NeumannSeries
from tests.hypergradients.bilevel import exact_solution, relative_error, symmetric

SOLVERS = pytest.mark.parametrize(
    "solver, settings", [(MinimalResidual, {}), (NeumannSeries, {"lanczos_steps": 20})], ids=["minres", "neumann"]
)


@SOLVERS
@pytest.mark.parametrize(
    "eigenvalues, damping, share, expected",
    [
        ([-5.0, -0.1, 0.2, 3.0, 40.0], 0.1, 0.2, 13.0),  # 0.2 * 40 + 5
        ([-50.0, -0.1, 0.2, 3.0, 40.0], 0.1, 0.2, 60.0),  # the largest in size curves downwards
        ([1.0, 2.0, 3.0, 10.0], 0.0, 0.2, 1.0),  # 0.2 * 10 - 1
        ([4.0, 5.0, 6.0], 0.1, 0.2, 0.1),  # enough as they are
    ],
)
def test_against_the_dense_system(solver, settings, eigenvalues, damping, share, expected):
    matrix, rhs = symmetric(eigenvalues)
    found = solver(damping=damping, relative_damping=share, tolerance=1e-11, max_steps=400, **settings).solve(
        Curvature.of_matrix(matrix), rhs
    )
    assert found.damping == pytest.approx(expected, rel=1e-6)
    assert relative_error(found.solution, exact_solution(matrix, rhs, expected)) < 1e-8
    assert found.residual < 1e-8 and found.converged == (found.residual <= 1e-11) and not found.has_problem


@SOLVERS
def test_a_few_steps_are_enough_where_the_curvature_is_of_any_sign(solver, settings):
    """Without it the series grows, and the least residual is large."""
    matrix, rhs = symmetric(torch.linspace(-30, 60, 80))

    def residual(share):
        given = solver(damping=0.1, relative_damping=share, max_steps=6, **settings)
        return given.solve(Curvature.of_matrix(matrix), rhs).residual

    assert residual(0.0) > 0.4 and residual(0.3) < 0.12


@SOLVERS
def test_it_is_off_by_default(solver, settings):
    matrix, rhs = symmetric([-5.0, 0.2, 40.0])
    assert solver(damping=0.1, **settings).solve(Curvature.of_matrix(matrix), rhs).damping == 0.1
