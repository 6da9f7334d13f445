import pytest
import torch

from seal.hypergradients import Curvature, NystroemInverse
from tests.hypergradients.bilevel import positive_definite, relative_error


@pytest.mark.parametrize("size", [1, 5, 500])
@pytest.mark.parametrize("condition", [1, 1e3, 1e6])
@pytest.mark.parametrize("damping", [0.0, 1e-3])
def test_all_directions_against_a_direct_solve(size, condition, damping):
    matrix, rhs = positive_definite(size, condition)
    torch.manual_seed(0)
    found = NystroemInverse(damping, 1e-8, max_steps=size).solve(Curvature.of_matrix(matrix), rhs)
    assert found.converged and found.steps == size
    expected = torch.linalg.solve(matrix + damping * torch.eye(size, dtype=torch.double), rhs)
    assert relative_error(found.solution, expected) < 1e-7


def test_a_low_rank_is_enough():
    torch.manual_seed(0)
    rows = torch.randn(10, 300, dtype=torch.double)
    matrix, rhs = rows.T @ rows, torch.randn(300, dtype=torch.double)
    curvature = Curvature.of_matrix(matrix)
    found = NystroemInverse(damping=0.5, max_steps=12).solve(curvature, rhs)
    expected = torch.linalg.solve(matrix + 0.5 * torch.eye(300, dtype=torch.double), rhs)
    assert found.converged and found.products == 13 and relative_error(found.solution, expected) < 1e-9
    few = NystroemInverse(damping=0.5, max_steps=8).solve(curvature, rhs)
    assert not few.converged and "8 of 300 directions are too few" in few.status
    # With damping 0 what lies outside gets nothing: the pseudo-inverse.
    bare = NystroemInverse(damping=0.0, max_steps=12).solve(curvature, rhs)
    assert relative_error(bare.solution, torch.linalg.pinv(matrix) @ rhs) < 1e-6 and not bare.converged


def test_the_generator():
    matrix, rhs = positive_definite(50, 100)
    found = []
    for seed in (0, 0, 1):
        curvature = Curvature.of_matrix(matrix, generator=torch.Generator().manual_seed(seed))
        found.append(NystroemInverse(max_steps=5).solve(curvature, rhs).solution)
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


def test_negative_curvature_is_told():
    torch.manual_seed(0)
    matrix = torch.diag(torch.tensor([2.0, 1.0, -1.0], dtype=torch.double))
    found = NystroemInverse(max_steps=3).solve(Curvature.of_matrix(matrix), torch.ones(3).double())
    assert torch.isfinite(found.solution).all() and not found.converged
    assert "negative curvature (-1) met" in found.status and found.curvature == pytest.approx((-1, 2))
