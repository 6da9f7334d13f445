import copy

import pytest
import torch

from seal.energies import LocalEnergy
from seal.nets import LossNet
from seal.output_spaces import CrfTagSequence


@pytest.fixture
def made():
    space = CrfTagSequence(["a", "b"], encoding=None)
    net = LossNet([LocalEnergy], space, task_net_dim=3)
    return torch.nn.ModuleDict({"space": space, "loss_net": net})


def test_the_output_space_is_no_submodule_of_a_net(made):
    assert list(made["loss_net"].state_dict()) == ["energies.0.label_embeddings.weight"]
    (energy,) = made["loss_net"].energies
    assert energy.output_space is made["space"]
    copied = copy.deepcopy(made)
    assert copied["loss_net"].energies[0].output_space is copied["space"] is not made["space"]


def test_weights_that_were_saved_with_it_load(made):
    weights = made["loss_net"].state_dict()
    old = {f"energies.0.output_space.{name}": value + 1 for name, value in made["space"].state_dict().items()}
    before = copy.deepcopy(made["space"].state_dict())
    assert old and made["loss_net"].load_state_dict({**weights, **old}).unexpected_keys == []
    assert all(torch.equal(value, before[name]) for name, value in made["space"].state_dict().items())
