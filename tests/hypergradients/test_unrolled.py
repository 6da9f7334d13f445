import pytest
import torch

from seal.hypergradients import ExactInverse, NeumannSeries, hypergradient, unrolled_hypergradient
from tests.hypergradients.bilevel import WAYS, leaf, problem, quadratic, seal_shaped


def through_a_graph(given, num_steps, step_size):
    """The gradient, by torch through all steps at once."""
    theta, psi = given.theta.detach().clone().requires_grad_(True), given.psi.detach().clone().requires_grad_(True)
    for _ in range(num_steps):
        (slope,) = torch.autograd.grad(given.inner_loss(theta, psi), theta, create_graph=True)
        theta = theta - step_size * slope
    (found,) = torch.autograd.grad(given.outer_loss(theta, psi), psi)
    return found, theta.detach()


@WAYS
@pytest.mark.parametrize("num_steps", [1, 2, 7])
def test_against_one_graph(products, tolerance, num_steps):
    given = seal_shaped()
    with torch.no_grad():
        given.theta.copy_(torch.tensor([1.5, -0.3]))
    before = given.theta.detach().clone()
    found = unrolled_hypergradient(*given.parts, num_steps, 0.7, products=products)
    expected, final = through_a_graph(given, num_steps, 0.7)
    assert (found.gradient["psi"] - expected).abs().max() < tolerance
    assert (found.final["theta"] - final).abs().max() < 1e-12
    assert torch.equal(found.gradient["psi"], found.explicit["psi"] + found.implicit["psi"])
    assert torch.equal(given.theta.detach(), before) and found.report.steps == num_steps
    assert found.report.implicit_norm == pytest.approx(found.implicit["psi"].norm().item()) != 0


def test_to_convergence_it_is_the_implicit_gradient():
    given = seal_shaped()
    implicit = hypergradient(*given.parts, ExactInverse()).gradient["psi"]
    with torch.no_grad():
        given.theta.copy_(torch.tensor([3.0, 2.0]))
    found = unrolled_hypergradient(*given.parts, 60, 1.4)
    assert (found.gradient["psi"] - implicit).abs().max() < 1e-6
    short = unrolled_hypergradient(*given.parts, 2, 1.4)
    assert (short.gradient["psi"] - implicit).abs().max() > 1e-4


def test_on_a_quadratic_it_tends_to_the_exact_hypergradient():
    """From far away; a step shrinks the difference by the slower factor, `1 - 0.3 * 1`, of the curvatures 1 and 3."""
    given = quadratic((0.5, -2.0))
    exact = hypergradient(*given.parts, ExactInverse()).gradient["psi"]
    with torch.no_grad():
        given.theta.copy_(torch.tensor([5.0, -7.0]))
    unrolled = [unrolled_hypergradient(*given.parts, steps, 0.3) for steps in (20, 40, 90)]
    errors = [float((found.gradient["psi"] - exact).norm()) for found in unrolled]
    assert errors[2] < 1e-10 and errors[1] < 1.5 * 0.7**20 * errors[0] and errors[0] > 1e-3


@pytest.mark.parametrize("terms", [0, 1, 3])
def test_from_a_minimum_it_is_the_neumann_series(terms):
    given = quadratic((0.0, 0.0))
    series = hypergradient(*given.parts, NeumannSeries(4.0, tolerance=0, max_steps=terms)).gradient["psi"]
    for settings in ({"num_steps": terms + 1}, {"num_steps": 9, "backward_steps": terms + 1}):
        found = unrolled_hypergradient(*given.parts, step_size=0.25, **settings).gradient["psi"]
        assert (found - series).abs().max() < 1e-12


def test_dropout_is_the_same_there_and_back():
    """The two ways agree, although one evaluates the loss more often; the stream moves by the outer loss alone."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Tanh()).double()
    psi = leaf(0.5)
    x, inner = torch.randn(4, 3, dtype=torch.double), dict(net.named_parameters())

    def inner_loss():
        return (psi * net(x)).exp().mean()

    found = []
    for products in ("autograd", "finite_differences"):
        torch.manual_seed(1)
        parts = inner_loss, lambda: net(x).sum(), inner, {"psi": psi}
        found.append(unrolled_hypergradient(*parts, 3, 0.5, products=products))
        state = torch.get_rng_state()
    assert torch.allclose(found[0].gradient["psi"], found[1].gradient["psi"], atol=1e-7, rtol=0)
    torch.manual_seed(1)
    net(x)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("products", ["autograd", "finite_differences"])
def test_every_evaluation_of_the_inner_loss_is_without_cudnn(products):
    """Its LSTMs have no gradient in evaluation mode."""
    given, seen = quadratic((0.0, 0.0)), []

    def inner_loss():
        seen.append(torch.backends.cudnn.enabled)
        return given.parts[0]()

    unrolled_hypergradient(inner_loss, *given.parts[1:], 2, 0.3, products=products)
    assert len(seen) > 2 and not any(seen) and torch.backends.cudnn.enabled


def test_parameters_come_back_after_an_exception():
    theta, calls = leaf(1.0, 2.0), []

    def inner_loss():
        calls.append(theta.detach().clone())
        if len(calls) == 4:
            raise ValueError("stop")
        return theta.square().sum()

    given = problem(theta, leaf(1.0), None, None)
    with pytest.raises(ValueError, match="stop"):
        unrolled_hypergradient(inner_loss, lambda: theta.sum(), *given.parts[2:], 5, 0.1)
    assert calls[-1].tolist() != [1, 2] and theta.tolist() == [1, 2]


def test_a_loss_that_explodes_leaves_the_parameters_as_they_were():
    explosive = problem(leaf(2.0), leaf(1.0), lambda t, p: (t**4 * p).sum(), lambda t, p: t.sum())
    with pytest.raises(FloatingPointError, match="inner loss"):
        unrolled_hypergradient(*explosive.parts, 20, 1.0)
    assert explosive.theta.tolist() == [2.0]
