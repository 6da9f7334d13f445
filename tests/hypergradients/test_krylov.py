import pytest
import torch

from seal.hypergradients.krylov import krylov_space
from seal.hypergradients.solver import Curvature, System
from tests.hypergradients.bilevel import positive_definite


def space_of(matrix, start, products, damping=0.0):
    system = System(Curvature.of_matrix(matrix), damping, start)
    return krylov_space(system, products), system


@pytest.mark.parametrize("products", [1, 2, 7])
def test_powers_of_the_matrix_lie_in_it(products):
    matrix, start = positive_definite(50, 100)
    space, system = space_of(matrix, start, products, damping=3.0)
    assert not space.closed and system.products == products == space.degree
    assert torch.allclose(space.basis @ space.basis.T, torch.eye(products + 1, dtype=torch.double), atol=1e-12)
    power, coordinates = start, torch.zeros(products + 1, dtype=torch.double)
    coordinates[0] = start.norm()
    for _ in range(products):
        assert torch.allclose(space.lift(coordinates), power, rtol=1e-9, atol=1e-12)
        power, coordinates = matrix @ power, space.matrix @ coordinates
    # The last of them, too, although no product of the last vector of the basis is known.
    assert torch.allclose(space.lift(coordinates), power, rtol=1e-9, atol=1e-12)


def test_the_matrix_within_it():
    matrix, start = positive_definite(50, 100)
    space, _ = space_of(matrix, start, 6)
    inside = space.basis @ matrix @ space.basis.T
    inside[-1, -1] = 0
    assert torch.allclose(space.matrix, inside, atol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
def test_eigenvalues_against_all_of_them(sign):
    matrix, start = positive_definite(50, 1e4)
    matrix = 7 * sign * matrix
    exact = torch.linalg.eigvalsh(matrix)
    largest = [float(space_of(matrix, start, steps)[0].eigenvalues().abs().max()) for steps in range(1, 21)]
    # From below, and they never fall.
    assert all(a <= b * (1 + 1e-9) for a, b in zip(largest, largest[1:])) and largest[0] < 0.9 * largest[-1]
    assert largest[-1] == pytest.approx(float(exact.abs().max()), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_it_closes_where_there_is_no_more_to_see(dtype):
    matrix = torch.diag(torch.tensor([3.0, 3.0, 1.0, 5.0], dtype=dtype))
    space, system = space_of(matrix, torch.tensor([1.0, -2.0, 1.0, 0.0], dtype=dtype), 10)
    assert space.closed and system.products == space.degree == 2
    assert space.eigenvalues().tolist() == pytest.approx([1, 3], rel=1e-5)


def test_no_curvature():
    space, _ = space_of(torch.zeros(3, 3), torch.ones(3), 5)
    assert space.closed and space.matrix.tolist() == [[0.0]]
