import math

import pytest
import torch

from seal.hypergradients import (
    ConjugateGradient,
    DiagonalHessian,
    ExactInverse,
    NeumannSeries,
    NystroemInverse,
    ScaledIdentity,
    hypergradient,
)
from tests.hypergradients.bilevel import WAYS, exponential, minimum, near, quadratic, resolved, seal_shaped

# Problems with known hypergradients; those for one solver alone are among its tests.

TARGETS = {(0.0, 1.0): (29 / 90, 28 / 90), (0.0, 0.0): (59 / 90, 88 / 90)}


@WAYS
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "solver",
    [
        ConjugateGradient(tolerance=1e-9),
        ExactInverse(),
        NeumannSeries(tolerance=1e-12, max_steps=200),
        NystroemInverse(damping=0.0, max_steps=2),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_quadratic(products, tolerance, target, solver):
    given = quadratic(target)
    torch.manual_seed(0)
    found = hypergradient(*given.parts, solver, products=products)
    near(found.gradient["psi"], TARGETS[target], tolerance)
    near(found.explicit["psi"], (0.1, 0.2), tolerance)
    implicit = [total - part for total, part in zip(TARGETS[target], (0.1, 0.2))]
    near(found.implicit["psi"], implicit, tolerance)
    report = found.report
    assert report.residual < 1e-9 and (report.converged or products == "finite_differences")
    assert report.explicit_norm == pytest.approx(math.hypot(0.1, 0.2), abs=1e-9)
    assert report.implicit_norm == pytest.approx(math.hypot(*implicit), abs=1e-6)
    assert report.inner_gradient_norm == pytest.approx(0, abs=1e-12)
    assert report.loss == pytest.approx(given.parts[1]().item(), abs=1e-12)
    assert given.theta.grad is None and given.psi.grad is None


@WAYS
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("terms", [0, 1, 2, 3, 4, 8])
def test_neumann(products, tolerance, target, terms):
    """The series in the eigenvectors (1, 1) of 3 and (1, -1) of 1, with B transposed."""
    solver = NeumannSeries(divisor=4.0, tolerance=0, max_steps=terms)
    found = hypergradient(*quadratic(target).parts, solver, products=products)
    v = (1 / 3, 1 / 3) if target == (0.0, 1.0) else (1 / 3, 4 / 3)
    plus = (v[0] + v[1]) / 2 / 3 * (1 - 0.25 ** (terms + 1))
    minus = (v[0] - v[1]) / 2 * (1 - 0.75 ** (terms + 1))
    near(found.implicit["psi"], (2 * plus, plus - minus), tolerance)
    near(found.gradient["psi"], (0.1 + 2 * plus, 0.2 + plus - minus), tolerance)
    assert found.report.steps == terms and not found.report.converged


@WAYS
def test_neumann_without_divisor_diverges(products, tolerance):
    for terms, first in enumerate((0.7666666667, -0.5666666667, 2.1, -3.2333333333, 7.4333333333)):
        solver = NeumannSeries(1.0, 0.0, 0.0, terms, stop_at_divergence=False, measure_residual=False)
        found = hypergradient(*quadratic((0.0, 1.0)).parts, solver, products=products)
        near(found.gradient["psi"][:1], (first,), max(tolerance, 1e-9))
        assert ("below half the largest eigenvalue" in found.report.status) == (terms > 0)


@WAYS
def test_conjugate_gradient_steps(products, tolerance):
    one = hypergradient(*quadratic((0.0, 1.0)).parts, ConjugateGradient(max_steps=1, tolerance=1e-8), products=products)
    near(one.gradient["psi"], TARGETS[0.0, 1.0], tolerance)
    assert one.report.steps == 1 and one.report.converged
    first = hypergradient(*quadratic((0.0, 0.0)).parts, ConjugateGradient(max_steps=1), products=products)
    # B transposed times q = (.13492063, .53968254), of Krylov's first direction.
    near(first.implicit["psi"], (0.67460317, 0.53968254), 1e-8 if products == "autograd" else 1e-6)
    assert not first.report.converged
    two = hypergradient(*quadratic((0.0, 0.0)).parts, ConjugateGradient(max_steps=2, tolerance=1e-8), products=products)
    near(two.gradient["psi"], TARGETS[0.0, 0.0], tolerance)
    assert two.report.steps == 2 and two.report.converged


@WAYS
def test_diagonal_and_identity_are_really_used(products, tolerance):
    found = hypergradient(*quadratic((0.0, 1.0)).parts, DiagonalHessian(max_steps=2), products=products)
    near(found.gradient["psi"], (0.4333333333, 0.3666666667), max(tolerance, 1e-10))
    assert not found.report.converged and "off the diagonal" in found.report.status
    found = hypergradient(*quadratic((0.0, 1.0)).parts, ScaledIdentity(4.0), products=products)
    near(found.gradient["psi"], (8 / 30, 8.5 / 30), tolerance)
    assert not found.report.converged and found.report.residual == pytest.approx(0.25, abs=1e-6)


@WAYS
@pytest.mark.parametrize("solver", [ConjugateGradient(), ExactInverse(), NeumannSeries(2.0), DiagonalHessian()])
def test_scalar(products, tolerance, solver):
    found = hypergradient(*exponential().parts, solver, products=products)
    assert found.gradient["psi"].shape == ()
    near(found.gradient["psi"], math.log(2) / 2, tolerance)
    assert found.gradient["psi"].item() == pytest.approx(0.3465735903, abs=max(tolerance, 1e-10))


@WAYS
@pytest.mark.parametrize("solver", [ConjugateGradient(tolerance=1e-11), ExactInverse()])
def test_seal_shaped(products, tolerance, solver):
    given = seal_shaped()
    near(given.theta.detach(), (0.49101535, -0.22600796), 6e-9)
    assert given.parts[0]().item() == pytest.approx(0.6849151964, abs=6e-11)
    found = hypergradient(*given.parts, solver, products=products)
    assert found.report.loss == pytest.approx(0.9892745276, abs=6e-11)
    printed = max(tolerance, 6e-9)
    near(found.explicit["psi"], (0.15822117, -0.07265102, 0.09113276), printed)
    near(found.implicit["psi"], (0.00641756, -0.00230243, 0.00045573), printed)
    near(found.gradient["psi"], (0.16463873, -0.07495345, 0.09158849), 1.1 * printed)
    near(found.gradient["psi"], resolved(given).tolist(), max(tolerance, 1e-8))
    # Written out from the matrices.
    theta, psi = given.theta.detach(), given.psi.detach()
    (h, j), _ = torch.autograd.functional.hessian(given.inner_loss, (theta, psi))
    v, g = torch.autograd.functional.jacobian(given.outer_loss, (theta, psi))
    near(found.gradient["psi"], (g - j.T @ torch.linalg.solve(h, v)).tolist(), tolerance)
    if isinstance(solver, ExactInverse):
        assert found.report.curvature == pytest.approx((0.614056, 0.665361), abs=6e-7)


def test_independent_minimum():
    """The reference of these tests is a minimum."""
    given = seal_shaped()
    (gradient,) = torch.autograd.grad(given.parts[0](), given.theta)
    assert gradient.abs().max() < 1e-14
    assert torch.equal(minimum(given.inner_loss, given.psi.detach(), 2), given.theta.detach())
