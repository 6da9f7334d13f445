import pytest
import torch

from seal.hypergradients import ConjugateGradient, Curvature, MinimalResidual
from tests.hypergradients.bilevel import exact_solution, relative_error, symmetric

SPECTRA = {
    "positive": [1.0, 2.0, 3.0, 10.0, 100.0],
    "indefinite": [-5.0, -0.1, 0.2, 3.0, 40.0],
    "negative": [-5.0, -2.0, -1.0],
    "singular": [0.0, 0.0, 1.0, 2.0, 50.0],
    "both": [-3.0, 0.0, 0.0, 0.5, 7.0, 7.0],
    "many": [*torch.linspace(-20, 50, 60).tolist(), *[0.0] * 40],
}


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("dtype, tolerance", [(torch.double, 1e-9), (torch.float, 1e-3)])
def test_against_the_pseudo_inverse(name, inside, dtype, tolerance):
    """Also of a right-hand side with a part where there is no curvature, which no solution reaches."""
    matrix, rhs = symmetric(SPECTRA[name])
    rhs = matrix @ rhs if inside else rhs
    inverse = torch.linalg.pinv(matrix, rtol=1e-10, hermitian=True)
    solver = MinimalResidual(tolerance=1e-12 if dtype == torch.double else 1e-6, max_steps=150)
    found = solver.solve(Curvature.of_matrix(matrix.to(dtype)), rhs.to(dtype))
    assert relative_error(found.solution.double(), inverse @ rhs) < tolerance
    left = matrix @ found.solution.double() - rhs
    assert found.residual == pytest.approx(float(left.norm() / rhs.norm()), rel=1e-3, abs=1e-5)
    is_reached = inside or 0.0 not in SPECTRA[name]
    assert ("no curvature" in found.status) == found.has_problem == (not is_reached)
    assert found.steps < 101 and found.products == found.steps + 1


def test_an_inner_parameter_that_the_loss_does_not_use():
    """And a feature absent from the data: rows and columns of zeros, where conjugate gradients go far."""
    matrix, rhs = symmetric([0.5, 1.0, 4.0])
    matrix = torch.block_diag(matrix, torch.zeros(2, 2, dtype=torch.double))
    rhs = torch.cat([rhs, torch.tensor([3.0, -2.0], dtype=torch.double)])
    found = MinimalResidual(tolerance=1e-10).solve(Curvature.of_matrix(matrix), rhs)
    assert found.solution[3:].abs().max() < 1e-12
    assert relative_error(found.solution[:3], torch.linalg.solve(matrix[:3, :3], rhs[:3])) < 1e-12


def test_each_iterate_has_the_least_residual_of_its_krylov_space():
    matrix, rhs = symmetric(torch.linspace(-3, 8, 30))
    powers, last = [rhs], 1.0
    for steps in range(1, 9):
        basis, _ = torch.linalg.qr(torch.stack(powers, dim=1))
        expected = basis @ torch.linalg.lstsq(matrix @ basis, rhs).solution
        found = MinimalResidual(max_steps=steps).solve(Curvature.of_matrix(matrix), rhs)
        assert relative_error(found.solution, expected) < 1e-9 and found.steps == steps
        assert found.residual <= last + 1e-12
        last = found.residual
        powers.append(matrix @ powers[-1])
    assert last < 0.9


def test_damping_and_the_end():
    matrix, rhs = symmetric([-4.0, 1.0, 2.0, 6.0])
    found = MinimalResidual(damping=0.5, tolerance=1e-10).solve(Curvature.of_matrix(matrix), rhs)
    assert found.converged and relative_error(found.solution, exact_solution(matrix, rhs, 0.5)) < 1e-10
    # It stops once the tolerance is met.
    matrix, rhs = symmetric(torch.linspace(1, 3, 50))
    found = MinimalResidual(tolerance=0.05, max_steps=50).solve(Curvature.of_matrix(matrix), rhs)
    assert found.converged and 1e-6 < found.residual <= 0.05 and found.steps < 10
    fewer = MinimalResidual(max_steps=found.steps - 1).solve(Curvature.of_matrix(matrix), rhs)
    assert fewer.residual > 0.05


def test_conjugate_gradients_on_singular_systems_stay_near():
    """A step along a direction with almost no curvature goes very far (an error of 1e16 among these)."""
    for dtype in (torch.float, torch.double):
        for seed in range(40):
            matrix, rhs = symmetric([0.0, 0.0, 0.3, 1.0, 2.0, 5.0], seed)
            found = ConjugateGradient().solve(Curvature.of_matrix(matrix.to(dtype)), rhs.to(dtype))
            expected = torch.linalg.pinv(matrix, rtol=1e-10, hermitian=True) @ rhs
            assert found.residual <= 1 and relative_error(found.solution.double(), expected) < 4
