import pytest
import torch

from seal.hypergradients import loss_products
from seal.hypergradients.parameter_layout import ParameterLayout
from tests.hypergradients.bilevel import leaf


def products_of(loss, inner, **settings):
    return loss_products(loss, ParameterLayout(inner), products="finite_differences", **settings)


def test_parameters_come_back_bit_for_bit():
    """Adding and subtracting a displacement would not: these values are far apart in size."""
    values = [1e-30, 1 / 3, 12345.678, -0.0, 7e20]
    theta = leaf(*values)
    before = theta.detach().clone()
    products = products_of(lambda: (theta.tanh() ** 2).sum(), {"theta": theta})
    products.hessian(torch.linspace(-3, 5, 5, dtype=torch.double))
    assert torch.equal(theta.detach().view(torch.long), before.view(torch.long))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("failing_call", [2, 3])
def test_parameters_come_back_after_an_exception(error, failing_call):
    theta, turned = leaf(0.1, 0.2), torch.nn.Parameter(torch.rand(3, 2, dtype=torch.double).T)
    before, seen = [theta.detach().clone(), turned.detach().clone()], []

    def loss():
        seen.append(theta.detach().clone())
        if len(seen) == failing_call:
            raise error("stop")
        return (theta.unsqueeze(1) * turned).exp().sum()

    products = products_of(loss, {"theta": theta, "turned": turned})
    state = torch.get_rng_state()
    with pytest.raises(error, match="stop"):
        products.hessian(torch.ones(8, dtype=torch.double))
    assert not torch.equal(seen[-1], before[0])
    assert torch.equal(theta.detach(), before[0]) and torch.equal(turned.detach(), before[1])
    assert turned.stride() == (1, 2) and torch.equal(state, torch.get_rng_state())


def test_a_graph_that_the_caller_holds_stays_good():
    theta = leaf(0.5, 2.0)
    held = (theta**3).sum()
    products_of(lambda: theta.exp().sum(), {"theta": theta}).hessian(torch.ones(2, dtype=torch.double))
    held.backward()
    assert theta.grad.tolist() == [0.75, 12.0]


def test_radius_is_the_norm_of_the_displacement():
    theta, seen = leaf(1.0, 1.0), []

    def loss():
        seen.append(theta.detach().clone())
        return (theta**4).sum()

    vector = torch.tensor([30.0, 40.0], dtype=torch.double)
    found = products_of(loss, {"theta": theta}, radius=0.1).hessian(vector)
    assert torch.allclose(seen[1] - 1, torch.tensor([0.06, 0.08], dtype=torch.double))
    assert torch.allclose(seen[2] - 1, -torch.tensor([0.06, 0.08], dtype=torch.double))
    # ((1 + e)^3 - (1 - e)^3) 4 / (2 e) = 4 (3 + e^2), so the radius shows.
    assert torch.allclose(found, torch.tensor([500 * 4 * 0.06 * 3.0036, 500 * 4 * 0.08 * 3.0064]).double())


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_the_size_of_the_vector_does_not_matter(scale):
    theta = leaf(0.3, -0.7, 1.1)
    products = products_of(lambda: theta.exp().sum(), {"theta": theta})
    vector = torch.tensor([1.0, -2.0, 0.5], dtype=torch.double)
    found = products.hessian(scale * vector) / scale
    assert torch.allclose(found, theta.detach().exp() * vector, atol=1e-8, rtol=0)
    assert not products.hessian(0 * vector).any()


@pytest.mark.parametrize("dtype, tolerance", [(torch.double, 1e-8), (torch.float, 5e-3)])
def test_large_parameters_and_lonely_directions(dtype, tolerance):
    """The step grows with the parameters' size; for a vector in one element it follows that element's scale."""
    torch.manual_seed(0)
    theta = torch.nn.Parameter((1000 * torch.randn(5000)).to(dtype))
    products = products_of(lambda: (theta / 1000).cos().sum() * 1e6, {"theta": theta})
    lonely = torch.zeros(5000, dtype=dtype)
    lonely[7] = 1.0
    for vector in (torch.randn(5000, dtype=dtype), lonely):
        expected = -(theta.detach().double() / 1000).cos() * vector.double()
        error = (products.hessian(vector).double() - expected).norm() / expected.norm()
        assert error < tolerance


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_the_error_is_near_the_least_that_there_is(dtype):
    """Of exp, a third of the bound. A step of `u^(1/2)` has 13 times the error or more, one of `u^(1/4)` 3 times."""
    torch.manual_seed(0)
    theta = torch.nn.Parameter(torch.rand(2000, dtype=dtype))
    products = products_of(lambda: theta.exp().sum(), {"theta": theta})
    vector = torch.rand(2000, dtype=dtype) + 0.5
    expected = theta.detach().double().exp() * vector.double()
    error = (products.hessian(vector).double() - expected).norm() / expected.norm()
    assert error < torch.finfo(dtype).eps ** (2 / 3)
