import pytest
import torch

from seal.hypergradients import Curvature, NeumannSeries, ScaledIdentity
from tests.hypergradients.bilevel import positive_definite, relative_error


def test_it_is_the_series_without_terms():
    matrix, rhs = positive_definite(5, 10)
    found = ScaledIdentity(3.0).solve(Curvature.of_matrix(matrix), rhs)
    assert torch.allclose(found.solution, rhs / 3, rtol=1e-14) and found.steps == 0 and found.products == 1
    series = NeumannSeries(3.0, max_steps=0).solve(Curvature.of_matrix(matrix), rhs)
    assert torch.equal(found.solution, series.solution) and found.residual == series.residual
    assert found.residual == pytest.approx(relative_error(matrix @ rhs / 3, rhs))
    assert not found.converged and "not 3 times the identity" in found.status


def test_where_it_is_right():
    found = ScaledIdentity(2.5, damping=0.5).solve(Curvature.of_matrix(2 * torch.eye(500)), torch.ones(500))
    assert found.converged and found.solution.tolist() == pytest.approx([0.4] * 500)
