import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients import cross_hessian_vector_product, hessian_vector_product, loss_products
from seal.hypergradients.parameter_layout import ParameterLayout
from tests.hypergradients.bilevel import WAYS, A, B, leaf, quadratic, relative_error

# Both ways against dense second derivatives, which torch writes out by itself.


def draws(parameters, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(p.shape, generator=generator, dtype=torch.double).to(p.dtype)
        for name, p in parameters.items()
    }


def dense(loss, rows, columns):
    """`d2 L / d rows d columns`, one row at a time by two backward passes: `(rows, columns)`."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        first = torch.autograd.grad(loss(), list(rows.values()), create_graph=True, allow_unused=True)
    found = []
    for gradient, row in zip(first, rows.values()):
        elements = torch.zeros_like(row) if gradient is None else gradient
        for element in elements.reshape(-1):
            second = [None] * len(columns)
            if element.requires_grad:
                second = torch.autograd.grad(element, list(columns.values()), retain_graph=True, allow_unused=True)
            pieces = [torch.zeros_like(c) if s is None else s for s, c in zip(second, columns.values())]
            found.append(torch.cat([piece.reshape(-1) for piece in pieces]))
    return torch.stack(found).detach()


def flat(named):
    return torch.cat([value.reshape(-1) for value in named.values()])


def check(loss, inner, outer, products, tolerance):
    vector = draws(inner)
    before = {name: p.detach().clone() for name, p in {**inner, **outer}.items()}
    state = torch.get_rng_state()
    hessian = hessian_vector_product(loss, inner, vector, products)
    cross = cross_hessian_vector_product(loss, inner, outer, vector, products)
    assert torch.equal(state, torch.get_rng_state())
    expected = dense(loss, inner, inner) @ flat(vector), dense(loss, inner, outer).T @ flat(vector)
    for found, wanted, parameters in ((hessian, expected[0], inner), (cross, expected[1], outer)):
        assert wanted.abs().max() > 1e-3
        assert relative_error(flat(found), wanted) < tolerance
        for name, value in found.items():
            assert value.shape == parameters[name].shape and value.dtype == parameters[name].dtype
            assert not value.requires_grad
    for name, parameter in {**inner, **outer}.items():
        assert torch.equal(parameter.detach(), before[name]) and parameter.grad is None


@WAYS
def test_quadratic(products, tolerance):
    given, vector = quadratic((0.0, 0.0)), {"theta": leaf(0.7, -1.1).detach()}
    loss, _, inner, outer = given.parts
    hessian = hessian_vector_product(loss, inner, vector, products)["theta"]
    cross = cross_hessian_vector_product(loss, inner, outer, vector, products)["psi"]
    assert (hessian - A @ vector["theta"]).abs().max() < tolerance
    assert (cross + B.T @ vector["theta"]).abs().max() < tolerance


# Nets.


def lstm():
    net = torch.nn.LSTM(3, 2, batch_first=True, bidirectional=True, dtype=torch.double)
    return net, lambda x: net(x)[0]


def multi_head_attention(need_weights):
    net = torch.nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.double)
    grow = torch.randn(3, 4, dtype=torch.double)
    return net, lambda x: net(x @ grow, x @ grow, x @ grow, need_weights=need_weights)[0]


def scaled_dot_product():
    net = torch.nn.Linear(3, 4, dtype=torch.double)

    def forward(x):
        key = net(x).unsqueeze(1)
        return torch.nn.functional.scaled_dot_product_attention(key, key.flip(2), key.tanh())

    return net, forward


def transformer():
    # The activations of ReLU have jumps that no difference gets over.
    net = torch.nn.TransformerEncoderLayer(4, 2, 4, activation="gelu", dropout=0.3, batch_first=True)
    grow = torch.randn(3, 4, dtype=torch.double)
    return net.double(), lambda x: net(x @ grow)


NETS = {
    "lstm": lstm,
    "attention": lambda: multi_head_attention(False),
    "attention_weights": lambda: multi_head_attention(True),
    "scaled_dot_product": scaled_dot_product,
}


@WAYS
@pytest.mark.parametrize("name", NETS)
def test_nets(products, tolerance, name):
    torch.manual_seed(0)
    net, forward = NETS[name]()
    x, psi = torch.randn(2, 4, 3, dtype=torch.double), leaf(0.3, -0.8)
    assert net.training

    def loss():
        outputs = forward(x)
        return (psi[0] * outputs).tanh().sum() + (psi[1] * outputs**2).mean()

    check(loss, dict(net.named_parameters()), {"psi": psi}, products, tolerance)


def test_fused_attention_has_no_second_derivative_outside():
    """What the math kernel is for; where this fails, the guard can go."""
    net, forward = scaled_dot_product()
    with pytest.raises(RuntimeError, match="not implemented"):
        loss = forward(torch.randn(2, 4, 3, dtype=torch.double)).square().sum()
        torch.autograd.grad(torch.autograd.grad(loss, net.weight, create_graph=True)[0].sum(), net.weight)


@WAYS
def test_dropout_is_fixed_within_a_product(products, tolerance):
    torch.manual_seed(0)
    net, forward = transformer()
    x, inner = torch.randn(2, 4, 3, dtype=torch.double), dict(net.named_parameters())

    def loss():
        return forward(x).square().sum() + forward(x).tanh().sum()

    vector = draws(inner)
    torch.manual_seed(5)
    system = loss_products(loss, ParameterLayout(inner), products=products)
    state = torch.get_rng_state()
    first = system.hessian(flat(vector))
    # The caller draws in between.
    torch.rand(3)
    assert torch.equal(first, system.hessian(flat(vector)))
    torch.set_rng_state(state)
    with torch.random.fork_rng():
        torch.manual_seed(5)
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            gradients = torch.autograd.grad(loss(), list(inner.values()), create_graph=True)
    expected = torch.autograd.grad(gradients, list(inner.values()), list(vector.values()))
    assert relative_error(first, torch.cat([e.reshape(-1) for e in expected])) < tolerance
    torch.manual_seed(6)
    assert relative_error(flat(hessian_vector_product(loss, inner, vector, products)), first) > 0.01


# Odd parameters.


@WAYS
def test_scalar_unused_and_non_contiguous(products, tolerance):
    torch.manual_seed(0)
    turned = torch.nn.Parameter(torch.randn(4, 3, dtype=torch.double).T)
    strided = torch.nn.Parameter(torch.randn(6, dtype=torch.double)[::2])
    assert not turned.is_contiguous() and not strided.is_contiguous()
    inner = {
        "scale": torch.nn.Parameter(torch.tensor(0.7, dtype=torch.double)),
        "turned": turned,
        "unused": torch.nn.Parameter(torch.ones(2, 2, dtype=torch.double)),
        "linear": leaf(1.0, 2.0),
        "strided": strided,
    }
    outer = {"unused": leaf(1.0), "psi": torch.nn.Parameter(torch.tensor(1.3, dtype=torch.double))}

    def loss():
        x = torch.linspace(-1, 1, 12, dtype=torch.double).view(3, 4)
        joint = torch.sin(inner["scale"] * (turned * x).sum(dim=1) * strided)
        return (outer["psi"] * joint).exp().sum() + inner["linear"].sum()

    check(loss, inner, outer, products, tolerance)
    found = hessian_vector_product(loss, inner, draws(inner), products)
    assert not found["unused"].any() and found["scale"].shape == ()
    assert found["linear"].abs().max() < 1e-9
    found = cross_hessian_vector_product(loss, inner, outer, draws(inner), products)
    assert not found["unused"].any() and found["psi"].abs() > 0.01


@WAYS
def test_tied(products, tolerance):
    """A tensor with two names is one parameter, as in a net that names it once."""
    torch.manual_seed(0)
    first, second = torch.nn.Linear(3, 3).double(), torch.nn.Linear(3, 3).double()
    second.weight = first.weight
    x = torch.randn(5, 3, dtype=torch.double)

    def loss():
        return second(first(x).tanh()).square().sum()

    twice = {"a": first.weight, "bias": first.bias, "b": second.weight}
    once = {"a": first.weight, "bias": first.bias}
    vector = draws(once)
    found = hessian_vector_product(loss, twice, {**vector, "b": vector["a"]}, products)
    expected = dense(loss, once, once) @ flat(vector)
    assert relative_error(flat({name: found[name] for name in once}), expected) < tolerance
    assert torch.equal(found["a"], found["b"]) and set(found) == set(twice)


def test_an_embedding_with_sparse_gradients():
    table = torch.nn.Embedding(5, 2, sparse=True, dtype=torch.double)
    words = torch.tensor([1, 3, 3])
    inner = {"table": table.weight}

    def loss():
        return table(words).pow(3).sum()

    found = hessian_vector_product(loss, inner, draws(inner), "finite_differences")["table"]
    count = torch.tensor([0.0, 1, 0, 2, 0], dtype=torch.double).unsqueeze(1)
    assert torch.allclose(found, 6 * count * table.weight.detach() * draws(inner)["table"], atol=1e-8)


def test_mixed_precisions():
    half = torch.nn.Parameter(torch.tensor([0.5, -1.0]).bfloat16())
    double = leaf(2.0, 3.0)
    inner = {"half": half, "double": double}
    vector = {"half": torch.tensor([1.0, 2.0]).bfloat16(), "double": torch.tensor([0.25, 0.5], dtype=torch.double)}
    found = hessian_vector_product(lambda: (half.double() * double).pow(2).sum(), inner, vector)
    # h = half, d = double: 2 d^2 p_h + 4 h d p_d, and 4 h d p_h + 2 h^2 p_d.
    assert found["half"].dtype == torch.bfloat16 and found["double"].dtype == torch.double
    assert found["half"].tolist() == [9.0, 30.0]
    assert found["double"].tolist() == [4.125, -23.0]


# What cannot be.


def test_no_second_derivative_at_all():
    class Fused(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x**3

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(context, gradient):
            return 3 * context.saved_tensors[0] ** 2 * gradient

    theta = leaf(1.0, 2.0)
    inner, vector = {"theta": theta}, {"theta": torch.ones(2, dtype=torch.double)}

    def loss():
        return Fused.apply(theta).sum()

    with pytest.raises(ConfigurationError, match="no second derivative.*'finite_differences'") as error:
        hessian_vector_product(loss, inner, vector)
    assert "\n" not in str(error.value)
    found = hessian_vector_product(loss, inner, vector, "finite_differences")["theta"]
    assert found.tolist() == pytest.approx([6, 12], abs=1e-6)


def test_other_errors_are_not_renamed():
    theta = leaf(1.0, 2.0)

    def loss():
        raise RuntimeError("the shelf is empty")

    with pytest.raises(RuntimeError, match="the shelf is empty"):
        hessian_vector_product(loss, {"theta": theta}, {"theta": torch.ones(2)})
