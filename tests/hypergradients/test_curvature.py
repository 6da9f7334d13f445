import torch

from seal.hypergradients import Curvature


def test_of_a_matrix():
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
