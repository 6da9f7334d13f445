import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients import hessian_vector_product
from tests.hypergradients.bilevel import leaf, quadratic


def test_mistakes_in_one_sentence():
    loss, _, inner, outer = quadratic((0.0, 1.0)).parts
    vector = {"theta": torch.ones(2, dtype=torch.double)}
    cases = [
        ((loss, inner, {"other": vector["theta"]}), "differ in the name 'other'"),
        ((loss, inner, {"theta": torch.ones(3)}), r"'theta' has shape \(3,\), the parameter \(2,\)"),
        ((lambda: torch.ones(()), inner, vector), "depends on none of the inner parameters"),
        ((lambda: outer["psi"].sum(), inner, vector), "depends on none of the inner parameters"),
        ((loss, inner, vector, "forward"), "'autograd' or 'finite_differences', found 'forward'"),
        ((loss, inner, vector, "autograd", 0.1), "only products 'finite_differences' have one"),
        ((loss, inner, vector, "finite_differences", 0.0), "radius must be above 0, found 0.0"),
    ]
    for arguments, message in cases:
        with pytest.raises(ConfigurationError, match=message) as error:
            hessian_vector_product(*arguments)
        assert "\n" not in str(error.value)
    for products in ("autograd", "finite_differences"):
        with pytest.raises(FloatingPointError, match="inner loss is nan"):
            hessian_vector_product(lambda: loss() * float("nan"), inner, vector, products)


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
