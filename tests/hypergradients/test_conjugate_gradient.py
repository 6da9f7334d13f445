import itertools

import pytest
import torch

from seal.hypergradients import ConjugateGradient, Curvature
from tests.hypergradients.bilevel import positive_definite, relative_error


@pytest.mark.parametrize("size", [1, 5, 50, 500])
@pytest.mark.parametrize("condition", [1, 1e3, 1e6])
def test_against_a_direct_solve(size, condition):
    matrix, rhs = positive_definite(size, condition)
    # Rounding leaves a residual of about the condition times 1e-16.
    tolerance = max(1e-12, 1e-15 * condition)
    found = ConjugateGradient(tolerance=tolerance, max_steps=20000).solve(Curvature.of_matrix(matrix), rhs)
    assert found.converged and found.residual <= tolerance
    assert relative_error(found.solution, torch.linalg.solve(matrix, rhs)) < 1e-9
    assert f"converged in {found.steps} steps" in found.status


def test_five_by_five():
    """A quadratic with eigenvalues 1 to 5: exact after five steps and not before."""
    basis, _ = torch.linalg.qr(torch.arange(25.0, dtype=torch.double).view(5, 5).sin())
    matrix = (basis * torch.arange(1.0, 6.0)) @ basis.T
    rhs = basis.sum(dim=1)
    # In the eigenvectors the solution is 1, 1/2, ..., 1/5.
    expected = basis @ (1 / torch.arange(1.0, 6.0, dtype=torch.double))
    errors = []
    for steps in range(1, 6):
        found = ConjugateGradient(max_steps=steps, tolerance=1e-12).solve(Curvature.of_matrix(matrix), rhs)
        assert found.steps == steps and found.converged == (steps == 5)
        errors.append(relative_error(found.solution, expected))
    assert errors == sorted(errors, reverse=True) and errors[-1] < 1e-13 and errors[3] > 1e-3


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


def test_damping():
    matrix, rhs = positive_definite(40, 1e6)
    found = ConjugateGradient(damping=0.3, tolerance=1e-12, max_steps=100).solve(Curvature.of_matrix(matrix), rhs)
    expected = torch.linalg.solve(matrix + 0.3 * torch.eye(40, dtype=torch.double), rhs)
    assert relative_error(found.solution, expected) < 1e-11
    # Of the matrix itself, not of the damped one.
    assert found.curvature[1] <= 1 + 1e-12


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
    shifted = matrix + 1.1 * torch.eye(4, dtype=torch.double)
    assert relative_error(damped.solution, torch.linalg.solve(shifted, rhs)) < 1e-11


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


def test_ill_conditioned_it_stops_early_and_says_so():
    matrix, rhs = positive_definite(500, 1e6)
    found = ConjugateGradient(max_steps=50).solve(Curvature.of_matrix(matrix), rhs)
    assert not found.converged and found.steps == 50 and "after 50 steps: raise max_steps (now 50)" in found.status
    assert found.residual == pytest.approx(relative_error(matrix @ found.solution, rhs), rel=1e-9)
