import json

import pytest
import torch

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
