"""The loss-net's features of a batch: none, frozen, or with their graph."""

from functools import partial

import pytest
import torch

from seal.energies import LabelInteractionEnergy, LocalEnergy
from seal.losses import NceRankingLoss
from seal.nets import FeatureMlp, LossNet, TaskNet
from seal.output_spaces import LabelSet
from seal.samplers import DiscreteSampler
from seal.two_player import TASK_NET, Features, TwoNets
from seal.two_player.objectives import constant, select_rows
from tests.spine import seal_model
from tests.training.runs import same, weights
from tests.two_player.test_two_player_step import batches, step_of


class Counted:
    """Features of one term that has none and one with a weight; the number of passes is their value."""

    def __init__(self):
        self.weight = torch.ones(1, requires_grad=True)
        self.passes = []
        self.encoded = []

    def vectors(self, state):
        self.encoded.append(torch.ones(1))
        return self.encoded[-1]

    def features(self, state, vectors):
        assert vectors is self.encoded[-1]
        self.passes.append("with graph")
        return [None, len(self.passes) * self.weight]

    def frozen_features(self, state, vectors):
        if vectors is None:
            self.vectors(state)
        self.passes.append("frozen")
        return [None, len(self.passes) * self.weight.detach()]


def values(features):
    return features[0], features[1].item(), features[1].requires_grad


def test_a_graph_serves_once_and_leaves_constants():
    nets, features = Counted(), Features()
    assert values(features.take(nets, None)) == (None, 1, True)
    assert values(features.frozen(nets, None)) == (None, 1, False) and len(nets.passes) == 1
    assert values(features.take(nets, None)) == (None, 2, True)
    assert values(features.frozen(nets, None)) == (None, 2, False)


def test_constants_alone_need_no_graph():
    nets, features = Counted(), Features()
    assert values(features.frozen(nets, None)) == values(features.frozen(nets, None)) == (None, 1, False)
    features.prepare(nets, None)
    assert nets.passes == ["frozen"]
    assert values(features.take(nets, None)) == (None, 2, True)


def test_what_is_prepared_is_taken():
    nets, features = Counted(), Features()
    features.prepare(nets, None)
    assert values(features.frozen(nets, None)) == (None, 1, False)
    assert values(features.take(nets, None)) == (None, 1, True)
    features.prepare(nets, None)  # There are constants still.
    assert nets.passes == ["with graph"]


@pytest.mark.parametrize("prepare", [True, False])
def test_none_is_left_of_stale_ones(prepare):
    nets, features = Counted(), Features()
    if prepare:
        features.prepare(nets, None)
    else:
        features.frozen(nets, None)
    features.drop()
    assert values(features.take(nets, None)) == (None, 2, True)


@pytest.mark.parametrize("keep", [True, False])
def test_vectors_may_outlive_what_is_made_of_them(keep):
    nets, features = Counted(), Features()
    features.take(nets, None)
    features.drop(but_vectors=keep)
    assert values(features.frozen(nets, None)) == (None, 2, False)
    assert nets.passes == ["with graph", "frozen"] and len(nets.encoded) == (1 if keep else 2)


def test_an_update_of_a_shared_encoder_makes_them_stale():
    """Then there is nothing to reuse: the loss-net's turn encodes with the weights after the task-net's."""
    after, space = [], LabelSet(["red", "round", "sweet"])
    for reuse in (False, True):
        torch.manual_seed(0)
        task_net = TaskNet(FeatureMlp(4, 1, input_dim=5), space)
        energies = [LocalEnergy, partial(LabelInteractionEnergy, hidden_dim=3)]
        loss_net = LossNet(energies, space, task_net.encoder.get_output_dim())
        nets = TwoNets(task_net, loss_net, space, DiscreteSampler(4), NceRankingLoss())
        step_of(nets, first=TASK_NET, reuse_features=reuse).step(batches(1)[0])
        after.append(weights(nets))
    assert same(*after)


def test_constant_restores_what_it_found():
    model = seal_model()
    frozen = model.loss_net.energies[0].label_embeddings.weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match="inside"):
        with constant(model.loss_net):
            assert not any(parameter.requires_grad for parameter in model.loss_net.parameters())
            assert not model.loss_net.training
            raise RuntimeError("inside")
    assert model.loss_net.training
    assert [p for p in model.loss_net.parameters() if not p.requires_grad][0] is frozen
    assert sum(not parameter.requires_grad for parameter in model.loss_net.parameters()) == 1
    model.loss_net.eval()
    with constant(model.loss_net):
        pass
    assert not model.loss_net.training
    with constant(None):
        pass


def test_select_rows():
    inputs = {"a": {"b": torch.arange(6).view(3, 2)}, "c": torch.arange(3)}
    chosen = select_rows(inputs, torch.tensor([2, 0]))
    assert chosen["a"]["b"].tolist() == [[4, 5], [0, 1]] and chosen["c"].tolist() == [2, 0]
