import pytest
import torch
from allennlp.common import Params
from allennlp.training.optimizers import Optimizer

from seal.training import FusedAdamW


@pytest.mark.parametrize("settings", [{}, {"lr": 0.3, "betas": [0.8, 0.9], "eps": 1e-3, "weight_decay": 0.2}])
def test_equals_allennlps_adamw(settings):
    torch.manual_seed(0)
    start, gradients = torch.randn(7, 3), torch.randn(5, 7, 3)
    found = []
    for name in ("fused_adamw", "adamw"):
        parameter = torch.nn.Parameter(start.clone())
        optimizer = Optimizer.from_params(Params({"type": name, **settings}), model_parameters=[("weight", parameter)])
        for gradient in gradients:
            parameter.grad = gradient.clone()
            optimizer.step()
        found.append(parameter.detach())
    assert torch.allclose(*found, atol=1e-6)
    assert not torch.allclose(found[0], start)


def test_parameter_groups():
    names = ("encoder.weight", "head.weight", "head.bias")
    named = [(name, torch.nn.Parameter(torch.ones(2))) for name in names]
    optimizer = FusedAdamW(named, parameter_groups=[(["^head"], {"lr": 0.5})], lr=0.1, weight_decay=0.0)
    assert [(len(group["params"]), group["lr"]) for group in optimizer.param_groups] == [(2, 0.5), (1, 0.1)]
    assert all(group["fused"] for group in optimizer.param_groups)
