"""A wrong setting, or a wrong value, is named."""

from functools import partial

import pytest
import torch
from allennlp.common import Params

from seal.hypergradients import (
    ConjugateGradient,
    Curvature,
    ExactInverse,
    InverseHessianVector,
    hessian_vector_product,
    hypergradient,
    unrolled_hypergradient,
)
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.registry import ConfigurationError
from tests.hypergradients.bilevel import leaf, quadratic
from tests.hypergradients.test_hypergradient import net_problem
from tests.hypergradients.test_input_spans import Problem

INNER_LOSS, OUTER_LOSS, INNER, OUTER = net_problem()
THETA, ONE = INNER["0.weight"], torch.ones((), dtype=torch.double)
LOSS, _, OF_LOSS, OF_OUTER = quadratic((0.0, 1.0)).parts
VECTOR = {"theta": torch.ones(2, dtype=torch.double)}
SOLVERS = [
    ({"type": "neumann", "divisor": 0}, "divisor"),
    ({"type": "neumann", "divisor": "large"}, "divisor.*'large'"),
    ({"type": "neumann", "lanczos_steps": 0}, "lanczos_steps"),
    ({"type": "neumann", "relative_damping": -0.1}, "relative_damping"),
    ({"type": "neumann", "divisor": 3.0, "relative_damping": 0.1}, "divisor"),
    ({"type": "minres", "relative_damping": 1.0}, "relative_damping"),
    ({"type": "identity", "divisor": -2.0}, "divisor.*-2.0"),
    ({"type": "sherman_morrison", "damping": 0}, "damping"),
    ({"type": "conjugate_gradient", "max_steps": 0}, "max_steps"),
]


def solver(settings):
    return InverseHessianVector.from_params(Params(dict(settings)))


def layout(**tensors):
    return partial(ParameterLayout, tensors, "inner parameters")


def gradient(*parts, **more):
    return partial(hypergradient, *parts, ConjugateGradient(), **more)


def unrolled(*settings):
    return unrolled_hypergradient(*quadratic((0.0, 0.0)).parts, *settings)


@pytest.mark.parametrize(
    "make, named",
    [
        *((partial(solver, settings), named) for settings, named in SOLVERS),
        (lambda: ExactInverse(max_steps=4).solve(Curvature.of_matrix(torch.eye(5)), torch.ones(5)), "max_steps.*4.*5"),
        (layout(a=torch.nn.Parameter(torch.ones(2), requires_grad=False)), "'a'"),
        (layout(a=torch.nn.Parameter(torch.ones(2)) * 2), "'a'"),
        (layout(a=torch.ones(2, dtype=torch.long)), "'a'.*torch.int64"),
        (layout(), "inner parameters"),
        (layout(a=leaf(1.0), b=torch.nn.Parameter(torch.ones(2, device="meta"))), "2 devices"),
        (gradient(lambda: ONE, OUTER_LOSS, INNER, OUTER), "inner loss"),
        (gradient(INNER_LOSS, lambda: ONE, INNER, OUTER), "outer loss"),
        (gradient(INNER_LOSS, OUTER_LOSS, {}, OUTER), "inner parameters"),
        (gradient(INNER_LOSS, OUTER_LOSS, INNER, {"shared": THETA}), "'0.weight'"),
        (gradient(INNER_LOSS, OUTER_LOSS, INNER, {"psi": ONE}), "'psi'"),
        (gradient(INNER_LOSS, lambda: THETA, INNER, OUTER), r"outer loss .*\(4, 3\)"),
        (gradient(INNER_LOSS, OUTER_LOSS, list(INNER.values()), OUTER), "inner parameters .*list"),
        (gradient(INNER_LOSS, OUTER_LOSS, {"theta": 1.0}, OUTER), "'theta' .*float"),
        (gradient(INNER_LOSS, lambda: OUTER_LOSS().item(), INNER, OUTER), "outer loss .*float"),
        (gradient(lambda: INNER_LOSS().item(), OUTER_LOSS, INNER, OUTER), "inner loss .*float"),
        (gradient(INNER_LOSS, OUTER_LOSS, INNER, OUTER, products="exact"), "'exact'"),
        (partial(hypergradient, INNER_LOSS, OUTER_LOSS, INNER, OUTER), "solver"),
        (gradient(*quadratic((0.5, -2.0)).parts, metric={"theta": torch.tensor([1.0, 0.0])}), "metric"),
        (lambda: Problem().solve(Problem().spans(), reduce=lambda flat: flat), "replica"),
        (partial(hessian_vector_product, LOSS, OF_LOSS, {"other": VECTOR["theta"]}), "'other'"),
        (partial(hessian_vector_product, LOSS, OF_LOSS, {"theta": torch.ones(3)}), r"'theta' .*\(3,\).*\(2,\)"),
        (partial(hessian_vector_product, lambda: OF_OUTER["psi"].sum(), OF_LOSS, VECTOR), "inner parameters"),
        (partial(hessian_vector_product, LOSS, OF_LOSS, VECTOR, "autograd", 0.1), "'finite_differences'"),
        (partial(hessian_vector_product, LOSS, OF_LOSS, VECTOR, "finite_differences", 0.0), "radius"),
        (partial(unrolled, 0, 0.1), "num_steps.*0"),
        (partial(unrolled, 2, 0.0), "step_size.*0.0"),
        (partial(unrolled, 2, 0.1, 0), "backward_steps.*0"),
    ],
)
def test_it_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()


def scaled(loss, factor):
    return lambda: loss() * float(factor)


@pytest.mark.parametrize(
    "make, named",
    [
        (gradient(scaled(INNER_LOSS, "nan"), OUTER_LOSS, INNER, OUTER), "inner loss is nan"),
        (gradient(INNER_LOSS, scaled(OUTER_LOSS, "inf"), INNER, OUTER), "outer loss is inf"),
        (partial(hessian_vector_product, scaled(LOSS, "nan"), OF_LOSS, VECTOR), "inner loss is nan"),
        (
            partial(hessian_vector_product, scaled(LOSS, "nan"), OF_LOSS, VECTOR, "finite_differences"),
            "inner loss is nan",
        ),
    ],
)
def test_a_value_that_is_not_finite_is_named(make, named):
    with pytest.raises(FloatingPointError, match=named):
        make()
