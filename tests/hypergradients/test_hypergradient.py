import textwrap

import pytest
import torch
from allennlp.common.checks import ConfigurationError

import seal.hypergradients
from seal.hypergradients import (
    ConjugateGradient,
    ExactInverse,
    NeumannSeries,
    NystroemInverse,
    ScaledIdentity,
    ShermanMorrison,
    hypergradient,
)
from seal.output_spaces import CrfTagSequence
from tests.hypergradients.bilevel import leaf, near, problem, quadratic, relative_error

# Its own behaviour; test_hypergradient_oracles.py has problems with known hypergradients.


def net_problem(dtype=torch.double, dropout=0.0):
    """A task-net with softplus and two outer parameters that weigh its outputs; the same in every precision."""
    torch.manual_seed(0)

    def rounded(tensor):
        return tensor.bfloat16().to(dtype)

    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Softplus(), torch.nn.Dropout(dropout), torch.nn.Linear(4, 2)
    )
    net = net.bfloat16().to(dtype)
    psi = torch.nn.Parameter(rounded(torch.randn(2)))
    x, y = rounded(torch.randn(6, 3)), rounded(torch.randn(6, 2))

    def inner_loss():
        decay = sum(p.square().sum() for p in net.parameters())
        return ((net(x) - y).square() * psi.exp()).mean() + 0.5 * decay

    def outer_loss():
        return (net(x) - 2 * y).square().mean() + psi.square().sum()

    return inner_loss, outer_loss, dict(net.named_parameters()), {"psi": psi}


def test_sentences_of_one_token_under_a_crf():
    """They are the same without padding as with it."""
    torch.manual_seed(0)
    space = CrfTagSequence(["O", "B-A", "I-A"]).double()
    bias, decay = leaf(0.3, -0.2, 0.9), leaf(0.5)
    inner, found = {"bias": bias, **dict(space.named_parameters())}, []
    for tokens in (1, 2):
        mask = torch.arange(tokens).expand(2, -1) < 1
        gold = torch.nn.functional.pad(torch.tensor([[[0]], [[1]]]), (0, tokens - 1))

        def outer_loss(mask=mask, gold=gold):
            return -space.log_prob(bias.expand(2, mask.shape[1], 3), gold, mask).sum()

        def inner_loss(outer_loss=outer_loss):
            return outer_loss() + decay.exp() * sum(p.square().sum() for p in inner.values())

        found.append(hypergradient(inner_loss, outer_loss, inner, {"decay": decay}, ExactInverse()).gradient["decay"])
    assert found[0].abs() > 1e-3
    torch.testing.assert_close(found[0], found[1])


def test_explicit_part_alone():
    inner_loss, outer_loss, inner, outer = net_problem()

    def unused():
        raise AssertionError("the inner loss was called")

    found = hypergradient(unused, outer_loss, inner, outer, implicit=False)
    assert torch.equal(found.gradient["psi"], 2 * outer["psi"].detach())
    assert found.report.implicit_norm == 0 and not found.implicit["psi"].any()
    full = hypergradient(inner_loss, outer_loss, inner, outer, ExactInverse())
    assert torch.equal(full.explicit["psi"], found.gradient["psi"]) and full.report.implicit_norm > 1e-3
    assert torch.equal(full.gradient["psi"], full.explicit["psi"] + full.implicit["psi"])


def test_both_ways_agree_under_dropout_and_leave_the_stream():
    inner_loss, outer_loss, inner, outer = net_problem(dropout=0.5)
    found = {}
    for products in ("autograd", "finite_differences"):
        torch.manual_seed(3)
        solver = ConjugateGradient(tolerance=1e-9, max_steps=60)
        found[products] = hypergradient(inner_loss, outer_loss, inner, outer, solver, products=products)
        after = torch.get_rng_state()
        assert found[products].report.residual < 1e-6
    assert torch.allclose(*(f.gradient["psi"] for f in found.values()), atol=1e-7, rtol=0)
    torch.manual_seed(3)
    outer_loss()
    assert torch.equal(after, torch.get_rng_state())
    # The masks matter.
    torch.manual_seed(4)
    other = hypergradient(inner_loss, outer_loss, inner, outer, ConjugateGradient(max_steps=60))
    assert not torch.allclose(other.gradient["psi"], found["autograd"].gradient["psi"], atol=1e-4)


@pytest.mark.parametrize(
    "dtype, products, tolerance",
    [
        (torch.float, "autograd", 1e-5),
        (torch.float, "finite_differences", 1e-3),
        (torch.bfloat16, "autograd", 0.05),
        (torch.bfloat16, "finite_differences", 0.3),
    ],
)
def test_lower_precision(dtype, products, tolerance):
    expected = hypergradient(*net_problem(), ExactInverse())
    solver = ConjugateGradient(tolerance=1e-5, max_steps=25, damping=0.0)
    found = hypergradient(*net_problem(dtype), solver, products=products)
    assert found.gradient["psi"].dtype == dtype
    error = relative_error(found.implicit["psi"].double(), expected.implicit["psi"])
    assert error < tolerance, found.report


def test_example_losses():
    theta, psi = leaf(0.3, -0.2), leaf(0.5)
    rows = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.double)
    # The gradient of each example's loss is its row; the inner loss has the Hessian `rows^T rows`.
    hessian = torch.eye(2, dtype=torch.double) + rows.T @ rows
    given = problem(
        theta,
        psi,
        lambda theta, psi: theta @ (hessian - torch.eye(2).double()) @ theta / 2 + psi.sum() * theta.sum(),
        lambda theta, psi: theta[0] + 2 * theta[1],
    )
    solver = ShermanMorrison(damping=1.0, average=False)
    found = hypergradient(*given.parts, solver, example_losses=lambda: rows @ theta)
    # - (1, 1) . [[.4, -.2], [-.2, .6]] (1, 2) = - (0 + 1)
    near(found.gradient["psi"], (-1.0,), 1e-12)
    assert found.report.converged and found.report.steps == 2 and found.report.products == 1
    for more in ({}, {"example_losses": lambda: theta.sum()}):
        with pytest.raises(ConfigurationError, match="example"):
            hypergradient(*given.parts, ShermanMorrison(), **more)


def test_example_losses_have_the_dropout_of_the_inner_loss_and_leave_the_stream():
    inner_loss, outer_loss, inner, outer = net_problem(dropout=0.5)
    norms = []

    class Recording(ShermanMorrison):
        def solve(self, curvature, rhs):
            norms.append(float(curvature.example_gradients().norm()))
            return super().solve(curvature, rhs)

    torch.manual_seed(3)
    found = hypergradient(
        inner_loss, outer_loss, inner, outer, Recording(), example_losses=lambda: inner_loss().reshape(1)
    )
    after = torch.get_rng_state()
    assert norms == pytest.approx([found.report.inner_gradient_norm])
    torch.manual_seed(3)
    outer_loss()
    assert torch.equal(after, torch.get_rng_state())


def test_reduce_is_applied_to_all():
    """As if a second replica had the same losses halved."""
    given = quadratic((0.0, 0.0))
    found = hypergradient(*given.parts, ConjugateGradient(tolerance=1e-12), reduce=lambda flat: 0.75 * flat)
    whole = hypergradient(*given.parts, ConjugateGradient(tolerance=1e-12))
    assert torch.allclose(found.gradient["psi"], 0.75 * whole.gradient["psi"], atol=1e-12, rtol=0)


# What cannot be.


def test_inference_mode():
    inner_loss, outer_loss, inner, outer = net_problem()
    with torch.inference_mode():
        made = torch.nn.Parameter(torch.ones(2, dtype=torch.double))
        with pytest.raises(ConfigurationError, match="inference_mode"):
            hypergradient(inner_loss, outer_loss, inner, outer, ConjugateGradient())
    with pytest.raises(ConfigurationError, match="'psi'.*inference_mode"):
        hypergradient(inner_loss, outer_loss, inner, {"psi": made}, ConjugateGradient())
    with torch.no_grad():
        assert hypergradient(inner_loss, outer_loss, inner, outer, ConjugateGradient()).report.implicit_norm > 0


@pytest.mark.parametrize("products", ["autograd", "finite_differences"])
def test_the_statistics_of_batch_normalisation_do_not_move(products):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4, momentum=None), torch.nn.Linear(4, 1))
    net, psi, x = net.double(), leaf(0.3), torch.randn(8, 3, dtype=torch.double)
    net(x)
    held = net(x).square().mean()
    before = [buffer.clone() for buffer in net.buffers()]

    def inner_loss():
        return (net(x) - psi).square().mean() + sum(p.square().sum() for p in net.parameters())

    parts = inner_loss, lambda: (net(x) - 1).square().mean(), dict(net.named_parameters()), {"psi": psi}
    assert hypergradient(*parts, ConjugateGradient(damping=1.0), products=products).report.implicit_norm > 0
    assert all(torch.equal(*pair) for pair in zip(before, net.buffers()))
    held.backward()
    net(x)
    assert not torch.equal(before[0], next(net.buffers()))


# What would be worse than nothing.


def test_a_solution_no_better_than_none_is_left_out():
    given = quadratic((0.0, 0.0))
    # 100 v, far beyond the solution.
    worse = ScaledIdentity(divisor=0.01)
    found = hypergradient(*given.parts, worse)
    assert found.report.residual > 1 and found.report.left_out and found.report.has_problem
    assert found.report.implicit_norm == 0 and torch.equal(found.gradient["psi"], found.explicit["psi"])
    assert found.report.status.startswith("the implicit part is left out: relative residual")
    # Nobody measured it.
    blind = hypergradient(*given.parts, ScaledIdentity(divisor=0.01, measure_residual=False))
    assert blind.report.implicit_norm > 1 and not blind.report.left_out
    better = hypergradient(*given.parts, ScaledIdentity(divisor=3.0))
    assert better.report.residual < 1 and better.report.implicit_norm > 0 and not better.report.left_out


def large_inputs(dtype=torch.float):
    """Inputs in the thousands, so that the loss changes over parameters of size 1e-3."""
    torch.manual_seed(0)
    x, y = 1000 * torch.randn(64, 10, dtype=torch.double), (torch.rand(64) < 0.5).to(dtype)
    theta, psi = torch.nn.Parameter(torch.zeros(10, dtype=dtype)), torch.nn.Parameter(torch.zeros(10, dtype=dtype))
    x = x.to(dtype)

    def inner_loss():
        logits = x @ (theta + psi)
        return (torch.nn.functional.softplus(logits) - y * logits).mean()

    return inner_loss, lambda: (x[:5] @ theta).sum() / 1000, {"theta": theta}, {"psi": psi}


def test_finite_differences_on_badly_scaled_parameters():
    solver = ConjugateGradient(tolerance=1e-3, max_steps=30)
    expected = hypergradient(*large_inputs(torch.double), solver).implicit["psi"]
    found = hypergradient(*large_inputs(), solver, products="finite_differences")
    assert relative_error(found.implicit["psi"].double(), expected) < 0.01
    assert 0 < found.report.disagreement < 1e-3 and not found.report.has_problem
    # A radius that is given is kept, and what it does is told.
    inner_loss, outer_loss, inner, outer = large_inputs()
    told = hypergradient(
        inner_loss, outer_loss, inner, outer, solver, products="finite_differences", radius=0.05
    ).report
    assert told.disagreement > 0.1 and told.has_problem and "finite differences at two radii are" in told.status
    assert hypergradient(*large_inputs(), solver).report.disagreement is None


def test_no_implicit_part_is_told():
    inner_loss, outer_loss, inner, outer = net_problem()
    found = hypergradient(inner_loss, lambda: outer["psi"].square().sum(), inner, outer, ConjugateGradient())
    assert "no gradient in the inner parameters" in found.report.status and found.report.has_problem
    assert torch.equal(found.gradient["psi"], found.explicit["psi"]) and found.report.steps == 0

    # A hinge that nothing violates is no mistake.
    def satisfied():
        return torch.relu(-1 - outer_loss().square()) + outer["psi"].square().sum()

    found = hypergradient(inner_loss, satisfied, inner, outer, ConjugateGradient())
    assert found.report.status == "the outer loss is flat in the inner parameters" and not found.report.has_problem
    assert torch.equal(found.gradient["psi"], 2 * outer["psi"].detach()) and found.report.implicit_norm == 0

    def apart():
        return sum(p.square().sum() for p in inner.values()) + outer["psi"].sum()

    found = hypergradient(apart, outer_loss, inner, outer, ConjugateGradient())
    assert "the implicit part is zero" in found.report.status and found.report.implicit_norm == 0


def test_a_loss_without_second_derivatives():
    theta, psi = leaf(0.5, -0.5), leaf(2.0)
    given = problem(
        theta, psi, lambda t, p: (p * torch.relu(t + 1)).sum(), lambda t, p: (t - 1).square().sum() + p.sum()
    )
    for solver in (ConjugateGradient(), NeumannSeries(), ExactInverse(), NystroemInverse(0.0, max_steps=2)):
        found = hypergradient(*given.parts, solver)
        assert "second derivatives vanish" in found.report.status, solver
        assert torch.isfinite(found.gradient["psi"]).all() and not found.report.converged
    # With damping there is a solution, v / damping, and the warning stays.
    found = hypergradient(*given.parts, ConjugateGradient(damping=0.5))
    assert "second derivatives vanish" in found.report.status and found.report.converged
    near(found.implicit["psi"], (-2 * (2 * (0.5 - 1) + 2 * (-0.5 - 1)),), 1e-12)


def test_a_product_that_is_not_finite_leaves_the_explicit_part():
    theta, psi = leaf(0.0, 1.0), leaf(2.0)
    given = problem(theta, psi, lambda t, p: (t.abs() ** 1.5).sum() * p.sum(), lambda t, p: t.sum() + p.square().sum())
    before = theta.detach().clone()
    found = hypergradient(*given.parts, ConjugateGradient())
    assert "not finite at step 1" in found.report.status and not found.report.converged
    assert found.gradient["psi"].tolist() == [4.0]
    assert torch.equal(theta.detach(), before)


def test_a_cross_product_that_is_not_finite_leaves_the_explicit_part():
    given = problem(
        leaf(0.0), leaf(0.0), lambda t, p: (t.square() / 2 + 1e300 * t * p).sum(), lambda t, p: (1e10 * t + 3 * p).sum()
    )
    found = hypergradient(*given.parts, ConjugateGradient())
    assert "the cross product is not finite" in found.report.status and not found.report.converged
    assert found.report.has_problem and found.report.implicit_norm == 0
    assert found.gradient["psi"].tolist() == [3.0] and found.implicit["psi"].tolist() == [0.0]


def test_the_example_of_the_docstring(capsys):
    text = seal.hypergradients.__doc__
    exec(textwrap.dedent(text[text.index("    import torch") :]), {})
    losses = [float(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert len(losses) == 20 and losses[-1] < losses[0]
