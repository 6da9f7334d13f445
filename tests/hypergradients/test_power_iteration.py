import pytest
import torch

from seal.hypergradients import largest_eigenvalue
from tests.hypergradients.bilevel import positive_definite


@pytest.mark.parametrize("sign", [1, -1])
def test_against_all_eigenvalues(sign):
    matrix, start = positive_definite(50, 1e4)
    matrix = 7 * sign * matrix
    found = largest_eigenvalue(matrix.mv, start, 500, tolerance=0)
    assert found == pytest.approx(float(torch.linalg.eigvalsh(matrix).abs().max()), rel=1e-6)


def test_it_rises_from_below_and_ends():
    matrix, start = positive_definite(50, 1e4)
    found = [largest_eigenvalue(matrix.mv, start, steps, tolerance=0) for steps in range(1, 30)]
    assert found == sorted(found) and found[0] < 0.9 and 0.99 < found[-1] <= 1 + 1e-12
    calls = []
    rough = largest_eigenvalue(lambda v: calls.append(v) or matrix @ v, start, 500)
    assert 0.8 < rough <= 1 and len(calls) < 30


def test_no_curvature():
    assert largest_eigenvalue(torch.zeros_like, torch.ones(3), 10) == 0
