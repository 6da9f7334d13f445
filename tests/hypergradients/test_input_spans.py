import pytest
import torch
from torch import nn

from seal.hypergradients import ConjugateGradient, ExactInverse, InputSpans, ParameterLayout, hypergradient
from tests.hypergradients.bilevel import WAYS


class Net(nn.Module):
    def __init__(self, features=20, hidden=4):
        super().__init__()
        self.first, self.last = nn.Linear(features, hidden), nn.Linear(hidden, 3)

    def forward(self, rows):
        return self.last(torch.tanh(self.first(rows)))


class Problem:
    """A net of wide rows, a quadratic energy of its outputs, and losses of a few rows."""

    def __init__(self, rows=5):
        torch.manual_seed(0)
        self.net, self.energy = Net().double(), nn.Linear(3, 3).double()
        self.batch = {"rows": torch.randn(rows, 20).double(), "gold": torch.rand(rows, 3).double()}

    def inner(self):
        outputs = self.net(self.batch["rows"])
        decay = sum(p.square().sum() for name, p in self.net.named_parameters() if name != "first.weight")
        energy = (self.energy(outputs) * outputs).sum(dim=1).mean()
        return (outputs - self.batch["gold"]).square().mean() + 0.1 * energy + 0.1 * decay

    def outer(self):
        outputs = self.net(self.batch["rows"])
        return (self.energy(outputs) - outputs.sin()).square().mean()

    def solve(self, spans=None, products="autograd", **settings):
        theta, psi = dict(self.net.named_parameters()), dict(self.energy.named_parameters())
        solver = settings.pop("solver", ExactInverse(damping=2.0))
        return hypergradient(self.inner, self.outer, theta, psi, solver, products=products, spans=spans, **settings)

    def spans(self):
        spans = InputSpans(self.net, self.batch.values())
        with spans.recording():
            self.inner()
        return spans


@WAYS
@pytest.mark.parametrize("rows", [1, 5, 9])
def test_the_hypergradient_is_the_same(products, tolerance, rows):
    problem = Problem(rows)
    expected = problem.solve()
    found = problem.solve(problem.spans(), products)
    assert expected.report.implicit_norm > 1e-3
    for name, value in expected.gradient.items():
        assert torch.allclose(found.gradient[name], value, atol=tolerance)
    for key in ("implicit_norm", "explicit_norm", "inner_gradient_norm", "loss"):
        assert getattr(found.report, key) == pytest.approx(getattr(expected.report, key), rel=1e-5)
    # A parameter a product: `exact` writes them all out.
    assert expected.report.steps == 20 * 4 + 4 + 15 and found.report.steps == rows * 4 + 4 + 15


def test_what_the_data_do_not_span_has_no_part_in_it():
    """An outer loss of other rows has a gradient outside the span; the inner loss answers nothing to it."""
    problem = Problem()
    others = torch.randn(5, 20).double()
    problem.outer = lambda: problem.energy(problem.net(others)).square().mean()
    expected = problem.solve(solver=ExactInverse(damping=2.0))
    found = problem.solve(problem.spans(), solver=ConjugateGradient(damping=2.0, max_steps=100, tolerance=1e-10))
    for name, value in expected.gradient.items():
        assert torch.allclose(found.gradient[name], value, atol=1e-8)


def few(problem, batch=None, run=None):
    spans = InputSpans(problem.net, (problem.batch if batch is None else batch).values())
    with spans.recording():
        (run or problem.inner)()
    return spans.layout(ParameterLayout(dict(problem.net.named_parameters()))).size


def test_layers_that_stay_as_they_are():
    problem = Problem()
    whole = 20 * 4 + 4 + 15
    assert few(problem) == 5 * 4 + 4 + 15
    assert few(Problem(rows=10)) == whole  # as many coordinates as would be saved, nearly
    assert few(problem, batch={}) == whole  # not known to be constant
    assert few(problem, run=lambda: (problem.inner(), problem.inner())) == whole
    problem.net.again = nn.Linear(20, 4).double()
    problem.net.again.weight = problem.net.first.weight
    assert few(problem) == whole + 4


def test_the_net_is_afterwards_as_before():
    problem = Problem()
    before = problem.inner()
    problem.solve(problem.spans())
    assert torch.equal(problem.inner(), before)
    assert not problem.net.first._forward_hooks and not problem.net.first._forward_pre_hooks


def test_other_rows_than_were_noticed():
    problem = Problem()
    spans = problem.spans()
    problem.batch["rows"] = problem.batch["rows"].clone()
    with pytest.raises(RuntimeError, match="reads something else"):
        problem.solve(spans)
