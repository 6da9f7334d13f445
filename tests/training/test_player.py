import torch
from allennlp.common import Params

from seal.training import FusedAdamW, Player


def test_defaults():
    player = Player.from_params(Params({}))
    assert (player.steps, player.grad_norm, player.learning_rate_scheduler) == (1, None, None)
    optimizer = player.optimizer.construct(model_parameters=[("weight", torch.nn.Parameter(torch.ones(1)))])
    assert type(optimizer) is FusedAdamW and optimizer.param_groups[0]["lr"] == 1e-3
    # A trainer without the key gets the same.
    optimizer = Player().optimizer.construct(model_parameters=[("weight", torch.nn.Parameter(torch.ones(1)))])
    assert type(optimizer) is FusedAdamW


def test_settings():
    player = Player.from_params(Params({"optimizer": {"type": "sgd", "lr": 0.5}, "grad_norm": 3, "steps": 0}))
    optimizer = player.optimizer.construct(model_parameters=[("weight", torch.nn.Parameter(torch.ones(1)))])
    assert optimizer.param_groups[0]["lr"] == 0.5
    assert (player.grad_norm, player.steps) == (3, 0)
