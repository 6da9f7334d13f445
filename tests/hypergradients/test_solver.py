import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.hypergradients import ConjugateGradient, Curvature, InverseHessianVector
from tests.hypergradients.bilevel import exact_solution, positive_definite, relative_error

# What all solvers have in common.

NAMES = ["conjugate_gradient", "diagonal", "exact", "identity", "minres", "neumann", "nystroem", "sherman_morrison"]
ALL = pytest.mark.parametrize("name", NAMES)


def solver_of(name, **settings):
    return InverseHessianVector.from_params(Params({"type": name, **settings}))


def matrix_with_examples(size=6, damping=1.0):
    """`H = G^T G`, which is also the mean of `g_i g_i^T` over the nine examples' gradients, and its `Curvature`."""
    generator = torch.Generator().manual_seed(2)
    rows = torch.randn(9, size, generator=generator, dtype=torch.double)
    return rows.T @ rows, Curvature.of_matrix(rows.T @ rows, example_gradients=lambda: 3 * rows)


def test_the_names():
    assert sorted(InverseHessianVector.list_available()) == NAMES


def test_a_curvature_of_a_matrix():
    curvature = Curvature.of_matrix(torch.tensor([[1.0, 2.0], [2.0, 5.0]], dtype=torch.double))
    assert curvature.product(torch.tensor([1.0, -1.0]).double()).tolist() == [-1, -3]
    assert curvature.size == 2 and curvature.dtype == torch.double


def test_draws():
    torch.manual_seed(0)
    curvature = Curvature.of_matrix(torch.eye(20000))
    signs = curvature.signs()
    assert set(signs.tolist()) == {-1, 1} and signs.shape == (20000,) and abs(signs.mean()) < 0.03
    assert curvature.normal(3).shape == (3, 20000) and abs(curvature.normal(3).std() - 1) < 0.02
    torch.manual_seed(0)
    assert torch.equal(curvature.signs(), signs)


@pytest.mark.parametrize("name", ["diagonal", "nystroem"])
def test_draws_of_a_generator_of_their_own(name):
    matrix, rhs = positive_definite(50, 100)
    state, found = torch.get_rng_state(), []
    for seed in (0, 0, 1):
        curvature = Curvature.of_matrix(matrix, generator=torch.Generator().manual_seed(seed))
        found.append(solver_of(name, max_steps=5).solve(curvature, rhs).solution)
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("size", [1, 5, 500])
@pytest.mark.parametrize("condition", [1, 1e3, 1e6])
@pytest.mark.parametrize("damping", [0.0, 1e-3])
@pytest.mark.parametrize("name", ["conjugate_gradient", "exact", "nystroem"])
def test_against_a_direct_solve(name, size, condition, damping):
    matrix, rhs = positive_definite(size, condition)
    torch.manual_seed(0)
    # Rounding leaves a residual of about the condition times 1e-16.
    tolerance = 1e-8 if name == "nystroem" else max(1e-12, 1e-15 * condition)
    max_steps = 20000 if name == "conjugate_gradient" else size
    solver = solver_of(name, damping=damping, tolerance=tolerance, max_steps=max_steps)
    found = solver.solve(Curvature.of_matrix(matrix), rhs)
    assert found.converged and found.residual <= tolerance and found.products >= found.steps
    assert relative_error(found.solution, exact_solution(matrix, rhs, damping)) < 10 * tolerance
    assert f"converged in {found.steps} steps" in found.status


@ALL
def test_zero_right_hand_side(name):
    def never(vector):
        raise AssertionError("a product was asked for")

    found = solver_of(name).solve(Curvature(never, 3), torch.zeros(3))
    assert found.solution.tolist() == [0, 0, 0] and found.residual == 0
    assert found.steps == found.products == 0 and found.converged and "zero" in found.status
    assert not found.has_problem


@ALL
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30])
def test_the_size_of_the_right_hand_side_does_not_matter(name, scale):
    matrix, curvature = matrix_with_examples()
    rhs = torch.linspace(-1, 2, 6, dtype=torch.double)
    solver = solver_of(name, damping=1.0, **({"max_steps": 100} if name in ("neumann", "diagonal") else {}))
    found = []
    for factor in (1.0, scale):
        torch.manual_seed(0)
        found.append(solver.solve(curvature, rhs * factor))
    assert torch.allclose(found[1].solution / scale, found[0].solution, rtol=1e-9, atol=0)
    assert found[0].residual == pytest.approx(found[1].residual, rel=1e-6, abs=1e-13)
    assert found[0].steps == found[1].steps and found[0].converged == found[1].converged


@ALL
def test_the_residual_is_measured(name):
    matrix, curvature = matrix_with_examples()
    matrix, rhs = matrix + 0.5 * torch.eye(6, dtype=torch.double), torch.linspace(-1, 2, 6, dtype=torch.double)
    solver = solver_of(name, damping=0.5)
    found = solver.solve(curvature, rhs)
    assert found.residual == pytest.approx(relative_error(matrix @ found.solution, rhs), rel=1e-6, abs=1e-13)
    assert found.converged == (found.residual <= 1e-4)
    # Not trivially so: these do not solve it, the others do.
    assert found.converged == (name not in ("identity", "diagonal", "neumann")), found
    eigenvalues = torch.linalg.eigvalsh(matrix) - 0.5
    least, most = found.curvature
    assert eigenvalues[0] - 1e-9 <= least <= most <= eigenvalues[-1] + 1e-9
    assert found.status.count(". ") == 0 and "\n" not in found.status
    # Too few steps are not a problem in this sense.
    assert not found.has_problem


@ALL
def test_unmeasured(name):
    _, curvature = matrix_with_examples()
    rhs = torch.linspace(-1, 2, 6, dtype=torch.double)
    settings = {"damping": 0.5, "max_steps": 6 if name in ("exact", "nystroem") else 3}
    torch.manual_seed(0)
    measured = solver_of(name, **settings).solve(curvature, rhs)
    torch.manual_seed(0)
    found = solver_of(name, measure_residual=False, **settings).solve(curvature, rhs)
    assert torch.equal(found.solution, measured.solution)
    assert found.residual is None and not found.converged
    assert found.products == measured.products - 1
    assert measured.residual is not None


@ALL
def test_a_product_that_is_not_finite(name):
    def broken(vector):
        return torch.full_like(vector, math.nan)

    curvature = Curvature(broken, 3, example_gradients=lambda: torch.eye(3))
    found = solver_of(name).solve(curvature, torch.ones(3))
    assert torch.isfinite(found.solution).all() and not found.converged and found.residual is None
    assert found.has_problem
    assert "not finite at step" in found.status


def test_the_iterate_before_a_product_that_is_not_finite():
    matrix, rhs = positive_definite(20, 100)
    calls = []

    def breaks(vector):
        calls.append(vector)
        image = matrix @ vector
        return image if len(calls) < 4 else image.index_fill(0, torch.tensor([5]), math.inf)

    solver = ConjugateGradient(tolerance=1e-12)
    found = solver.solve(Curvature(breaks, 20, torch.double), rhs)
    expected = ConjugateGradient(tolerance=1e-12, max_steps=3).solve(Curvature.of_matrix(matrix), rhs)
    assert torch.equal(found.solution, expected.solution) and found.steps == 3
    assert "not finite at step 4" in found.status


@ALL
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_right_hand_side_that_is_not_finite(name, value):
    found = solver_of(name).solve(Curvature.of_matrix(torch.eye(2)), torch.tensor([1.0, value]))
    assert found.solution.tolist() == [0, 0] and not found.converged and found.has_problem
    assert "right-hand side is not finite" in found.status


def test_a_solution_out_of_range():
    tiny = torch.eye(2) * 1e-38
    found = solver_of("exact").solve(Curvature.of_matrix(tiny), torch.tensor([1e5, 1e5]))
    assert found.solution.tolist() == [0, 0] and not found.converged and "raise damping" in found.status


@ALL
def test_float32(name):
    matrix, curvature = matrix_with_examples()
    rows = curvature.example_gradients().float()
    single = Curvature.of_matrix(rows.T @ rows / len(rows), example_gradients=lambda: rows)
    rhs = torch.linspace(-1, 2, 6)
    settings = {"max_steps": 1000} if name == "neumann" else {}
    found = solver_of(name, damping=1.0, tolerance=1e-5, **settings).solve(single, rhs)
    assert found.solution.dtype == torch.float
    if name not in ("identity", "diagonal"):
        exact = exact_solution(matrix, rhs.double(), 1.0)
        assert relative_error(found.solution.double(), exact) < 1e-4 and found.converged


# From configs.


@ALL
@pytest.mark.parametrize(
    "setting, value",
    [("damping", -0.1), ("damping", math.nan), ("damping", math.inf), ("tolerance", -1), ("max_steps", -1)],
)
def test_a_wrong_setting_is_named(name, setting, value):
    with pytest.raises(ConfigurationError, match=f"solver.{setting}.*{value}"):
        solver_of(name, **{setting: value})


def test_good_settings():
    solver = solver_of("neumann", divisor=4, damping=0.5, tolerance=0, max_steps=0, stop_at_divergence=False)
    assert (solver.divisor, solver.damping, solver.max_steps, solver.stop_at_divergence) == (4, 0.5, 0, False)
    assert solver_of("neumann").divisor == "auto"
    assert solver_of("sherman_morrison").average and not solver_of("sherman_morrison", average=False).average
