import itertools

import pytest
import torch

from seal.hypergradients import ConjugateGradient, Curvature
from tests.hypergradients.bilevel import exact_solution, positive_definite, relative_error


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_the_iterate_is_the_last_one(steps):
    """After `k` steps it is the best of the Krylov space of dimension `k`, found by a small dense problem."""
    matrix, rhs = positive_definite(30, 50)
    powers = [rhs]
    for _ in range(steps - 1):
        powers.append(matrix @ powers[-1])
    basis, _ = torch.linalg.qr(torch.stack(powers, dim=1))
    expected = basis @ torch.linalg.solve(basis.T @ matrix @ basis, basis.T @ rhs)
    found = ConjugateGradient(max_steps=steps).solve(Curvature.of_matrix(matrix), rhs)
    assert relative_error(found.solution, expected) < 1e-10
    assert found.steps == steps and found.products == steps + 1
    assert f"after {steps} steps: raise max_steps (now {steps})" in found.status


def test_negative_curvature_keeps_the_iterate_so_far():
    matrix = torch.diag(torch.tensor([4.0, 3.0, 2.0, -1.0], dtype=torch.double))
    rhs = torch.tensor([1.0, 1.0, 1.0, 0.2], dtype=torch.double)
    found = ConjugateGradient(tolerance=1e-12).solve(Curvature.of_matrix(matrix), rhs)
    assert not found.converged and found.steps > 0 and found.curvature[0] < 0
    place = f"negative curvature ({found.curvature[0]:.3g}) met at step {found.steps + 1}: raise damping"
    assert place in found.status
    expected = ConjugateGradient(max_steps=found.steps).solve(Curvature.of_matrix(matrix), rhs)
    assert torch.equal(found.solution, expected.solution) and found.residual == expected.residual
    # As advised.
    damped = ConjugateGradient(damping=1.1, tolerance=1e-12).solve(Curvature.of_matrix(matrix), rhs)
    assert damped.converged
    assert relative_error(damped.solution, exact_solution(matrix, rhs, 1.1)) < 1e-11


def test_negative_curvature_at_once():
    found = ConjugateGradient().solve(Curvature.of_matrix(-torch.eye(2)), torch.ones(2))
    assert found.solution.tolist() == [0, 0] and found.steps == 0 and found.residual == 1
    assert "met at step 1" in found.status and "above 1" in found.status


@pytest.mark.parametrize("rhs, steps", [([1.0, 1.0, 0.0], 2), ([1.0, 1.0, 1.0], None)])
def test_singular(rhs, steps):
    matrix = torch.diag(torch.tensor([2.0, 1.0, 0.0], dtype=torch.double))
    found = ConjugateGradient(tolerance=1e-10).solve(Curvature.of_matrix(matrix), torch.tensor(rhs).double())
    assert torch.isfinite(found.solution).all()
    if steps is None:
        assert not found.converged and "no curvature met" in found.status
    else:
        assert found.converged and found.steps == steps
        assert found.solution.tolist() == pytest.approx([0.5, 1, 0], abs=1e-12)


def test_rounding_is_told():
    """No float32 solve reaches 1e-12; it ends by itself."""
    matrix, rhs = positive_definite(60, 1e4)
    solver = ConjugateGradient(tolerance=1e-12, max_steps=100000)
    found = solver.solve(Curvature.of_matrix(matrix.float()), rhs.float())
    assert not found.converged and "rounding ends it" in found.status and found.steps < 5000
    assert 0 < found.residual < 1e-2
    # The better of those that were measured, whose residual it has.
    left = matrix.float() @ found.solution - rhs.float()
    assert found.residual == pytest.approx(float(left.norm() / rhs.float().norm()), rel=0.1)


def with_errors(matrix, errors):
    """Products with a matrix, to some of which something is added: `errors` by the number of the product."""
    count = itertools.count()

    def product(vector):
        return matrix @ vector + errors.get(next(count), torch.zeros_like(vector))

    return Curvature(product, len(matrix), matrix.dtype)


def test_a_restart_that_gets_worse_keeps_the_best_iterate():
    """With the unit matrix it is there in one step; only the measured residuals, of products 1 and 3, say otherwise."""
    rhs, error = torch.tensor([1.0, 0.5]).double(), torch.tensor([0.01, -0.02]).double()
    curvature = with_errors(torch.eye(2, dtype=torch.double), {1: error, 3: -3 * error})
    found = ConjugateGradient(tolerance=1e-6).solve(curvature, rhs)
    # From the first iterate the second is `error` away, with a residual of 4 times that.
    assert found.solution.tolist() == rhs.tolist() and found.products == 4
    assert found.residual == pytest.approx(relative_error(rhs + error, rhs)) and "rounding ends it" in found.status


def test_the_residual_is_that_of_the_iterate():
    """Measured anew where steps were taken since."""
    matrix = torch.diag(torch.tensor([1.0, 30.0], dtype=torch.double))
    rhs, error = torch.tensor([1.0, 0.7]).double(), torch.tensor([0.01, 0.3]).double()
    # Two steps and a measured residual, which is wrong; then a step that makes it smaller and does not end it.
    found = ConjugateGradient(tolerance=1e-6, max_steps=3).solve(with_errors(matrix, {2: error}), rhs)
    assert found.steps == 3 and found.products == 5 and not found.converged
    assert found.residual == pytest.approx(relative_error(matrix @ found.solution, rhs), rel=1e-6)
    assert found.residual == pytest.approx(relative_error(rhs + error, rhs), rel=0.1)


def test_the_iterate_of_least_residual_is_kept():
    """Its residual may grow from step to step, here above that of zeros."""
    matrix, rhs = positive_definite(200, 1e4)
    solutions = [ConjugateGradient(max_steps=steps).solve(Curvature.of_matrix(matrix), rhs) for steps in range(1, 30)]
    residuals = [found.residual for found in solutions]
    assert residuals == sorted(residuals, reverse=True) and residuals[0] == 1 and not solutions[0].solution.any()
    assert [found.steps for found in solutions] == list(range(1, 30))
