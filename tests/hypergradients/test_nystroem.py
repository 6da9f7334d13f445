import pytest
import torch

from seal.hypergradients import Curvature, NystroemInverse
from tests.hypergradients.bilevel import exact_solution, relative_error


def test_a_low_rank_is_enough():
    torch.manual_seed(0)
    rows = torch.randn(10, 300, dtype=torch.double)
    matrix, rhs = rows.T @ rows, torch.randn(300, dtype=torch.double)
    curvature = Curvature.of_matrix(matrix)
    found = NystroemInverse(damping=0.5, max_steps=12).solve(curvature, rhs)
    assert relative_error(found.solution, exact_solution(matrix, rhs, 0.5)) < 1e-9
    assert found.converged and found.products == 13
    few = NystroemInverse(damping=0.5, max_steps=8).solve(curvature, rhs)
    assert not few.converged and "8 of 300 directions are too few" in few.status
    # With damping 0 what lies outside gets nothing: the pseudo-inverse.
    bare = NystroemInverse(damping=0.0, max_steps=12).solve(curvature, rhs)
    assert relative_error(bare.solution, torch.linalg.pinv(matrix) @ rhs) < 1e-6 and not bare.converged


def test_negative_curvature_is_told():
    torch.manual_seed(0)
    matrix = torch.diag(torch.tensor([2.0, 1.0, -1.0], dtype=torch.double))
    found = NystroemInverse(max_steps=3).solve(Curvature.of_matrix(matrix), torch.ones(3).double())
    assert torch.isfinite(found.solution).all() and not found.converged
    assert "negative curvature (-1) met" in found.status and found.curvature == pytest.approx((-1, 2))
