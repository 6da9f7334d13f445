import json

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.samplers.gradient_based_inference import OPTIMIZERS, ElementwiseOptimizer


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_an_element_does_not_see_the_others(name):
    made = ElementwiseOptimizer(name, 0.1, "here")
    assert made.name == name

    def moved(columns):
        point = torch.tensor([0.3, -2.0, 50.0], dtype=torch.double)[columns].requires_grad_(True)
        optimizer = made.new(point)
        for _ in range(4):
            point.grad = (point.detach() ** 3).clone()
            optimizer.step()
        return point.detach()

    together = moved([0, 1, 2])
    for column in range(3):
        assert torch.equal(moved([column]), together[[column]]) and moved([column]).isfinite().all()


@pytest.mark.parametrize(
    "given",
    [
        {"type": "adam", "betas": [0.5, 0.9]},
        {"type": "sgd", "momentum": 0.9, "nesterov": True},
    ],
)
def test_arguments_reach_the_optimizer(given):
    asked = dict(given)
    made = ElementwiseOptimizer(given, 0.1, "here")
    assert given == asked
    point = torch.zeros(2)
    optimizer = made.new(point)
    assert type(optimizer) is OPTIMIZERS[made.name] and optimizer.param_groups[0]["params"][0] is point
    wanted = {**given, "lr": 0.1}
    assert wanted.pop("type") == made.name
    assert json.loads(json.dumps({name: optimizer.defaults[name] for name in wanted})) == wanted
    assert made.new(point) is not optimizer


@pytest.mark.parametrize(
    "given, message",
    [
        ("lbfgs", "^here: optimizer must be 'sgd', 'adam', 'adamw', .*, found 'lbfgs'"),
        ({"momentum": 0.9}, "^here: optimizer must be 'sgd', .*, found None"),
        ({"type": ["sgd"]}, "^here: optimizer must be 'sgd', "),
        (3, "^here: optimizer is a name or an object with a type, not 3"),
        ({"type": "sgd", "mom": 1}, "optimizer.mom is not a setting of 'sgd' here; it has momentum, damp"),
        ({"type": "sgd", "lr": 1.0}, "optimizer.lr is not a setting of 'sgd' here; it is given by step_s"),
        ({"type": "sgd", "maximize": True}, "optimizer.maximize is not a setting of 'sgd' here"),
        ({"type": "adam", "betas": [2, 3]}, "optimizer has a wrong value for 'adam': Invalid beta"),
        ({"type": "sgd", "momentum": "a"}, "optimizer has a wrong value for 'sgd'"),
    ],
)
def test_mistakes(given, message):
    with pytest.raises(ConfigurationError, match=message):
        ElementwiseOptimizer(given, 0.1, "here")
