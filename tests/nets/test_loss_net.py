from functools import partial

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.energies import LinearChainEnergy, LocalEnergy
from seal.nets import LossNet, TaskNet
from seal.output_spaces import TagSequence
from tests.spine import VOCAB, encoder_params, loss_net_params, mask_of, one_hot, srl_batch, tag_sequence


def loss_net(shared=False, **more):
    torch.manual_seed(0)
    params = Params({**loss_net_params(shared), **more})
    return LossNet.from_params(params, vocab=VOCAB, output_space=tag_sequence(3), task_net_dim=7).double()


def calls_of(module):
    calls = []
    module.register_forward_hook(lambda *_: calls.append(1))
    return calls


def test_the_input_is_looked_at_once():
    net, batch, mask = loss_net(), srl_batch([0, 1]), mask_of([4, 2])
    encoder_calls, head_calls = calls_of(net.encoder), calls_of(net.energies[0].label_embeddings)
    features = net.encode(batch, torch.zeros(2, 4, 7).double(), mask)
    values = [net(features, torch.randint(3, (2, samples, 4)), mask) for samples in (1, 5, 50)]
    assert [value.shape for value in values] == [(2, 1), (2, 5), (2, 50)]
    assert len(encoder_calls) == len(head_calls) == 1


def test_the_energy_is_the_sum_of_its_terms():
    net, batch, mask = loss_net(), srl_batch([0, 1]), mask_of([4, 2])
    outputs = torch.randint(3, (2, 5, 4))
    features = net.encode(batch, torch.zeros(2, 4, 7).double(), mask)
    hidden = net.encoder(batch)
    local = (hidden @ net.energies[0].label_embeddings.weight.t()).unsqueeze(1) * one_hot(outputs, 3)
    expected = (local.sum(-1) * mask.unsqueeze(1)).sum(-1)
    expected = expected + net.energies[1](None, outputs, mask) + net.energies[2](None, outputs, mask)
    assert torch.allclose(net(features, outputs, mask), expected)
    assert torch.allclose(net(features, one_hot(outputs, 3), mask), expected)


def test_a_candidate_does_not_depend_on_the_others():
    net, batch, mask = loss_net(), srl_batch([0, 1]), mask_of([4, 2])
    outputs = torch.randint(3, (2, 6, 4))
    features = net.encode(batch, torch.zeros(2, 4, 7).double(), mask)
    together = net(features, outputs, mask)
    for k in range(6):
        assert torch.allclose(net(features, outputs[:, k : k + 1], mask), together[:, k : k + 1])


def test_a_shared_encoder_gets_no_gradient():
    net = loss_net(shared=True)
    assert net.shares_encoder and not loss_net().shares_encoder
    hidden = torch.randn(2, 4, 7, dtype=torch.double, requires_grad=True)
    net(net.encode({}, hidden), torch.randint(3, (2, 5, 4))).sum().backward()
    assert hidden.grad is None
    assert net.energies[0].label_embeddings.weight.grad.abs().max() > 0
    # But it is looked at.
    outputs = torch.randint(3, (2, 1, 4))
    assert not torch.allclose(net(net.encode({}, hidden), outputs), net(net.encode({}, 2 * hidden), outputs))


def test_an_encoder_of_its_own_does_not_look_at_the_task_net():
    net, batch, outputs = loss_net(), srl_batch([0]), torch.randint(3, (1, 2, 4))
    one, other = (net(net.encode(batch, torch.randn(1, 4, 7).double()), outputs) for _ in range(2))
    assert torch.equal(one, other)


def test_sizes_follow_the_encoder():
    assert loss_net(shared=True).energies[0].label_embeddings.in_features == 7
    assert loss_net(encoder=encoder_params(5)).energies[0].label_embeddings.in_features == 10


def test_dropout_is_on_the_vectors():
    net, outputs = loss_net(shared=True, dropout=0.5), torch.randint(3, (1, 1, 4)).expand(1, 3, 4)
    hidden = torch.randn(1, 4, 7).double()
    values = net(net.encode({}, hidden), outputs)
    # One mask for all candidates of a batch.
    assert torch.allclose(values, values[:, :1].expand(1, 3))
    assert not torch.allclose(values, net(net.encode({}, hidden), outputs))


def task_net(**more):
    params = Params({"encoder": encoder_params(3), "bias": False, **more})
    return TaskNet.from_params(params, vocab=VOCAB, output_space=tag_sequence(3)).double()


def test_a_copied_task_net_is_the_local_term():
    net, taught, batch, mask = loss_net().eval(), task_net().eval(), srl_batch([0, 1]), mask_of([4, 2])
    outputs = torch.rand(2, 5, 4, 3).double()
    hidden = torch.zeros(2, 4, 7).double()
    local = net.energies[0]
    others = sum(energy(None, outputs, mask) for energy in net.energies[1:])
    net.check_copy(taught)
    net.copy_task_net(taught)
    logits = taught(batch).logits.unsqueeze(1) * mask[:, None, :, None]
    expected = -(logits * outputs).sum((-1, -2))
    assert torch.allclose(local(net.encode(batch, hidden, mask)[0], outputs, mask), expected)
    # The others are as they were, and the two nets share nothing.
    assert torch.allclose(net(net.encode(batch, hidden, mask), outputs, mask), expected + others)
    theirs = {id(parameter) for parameter in taught.parameters()}
    assert theirs.isdisjoint(id(parameter) for parameter in net.parameters())


@pytest.mark.parametrize(
    "net, taught, message",
    [
        ({}, None, "task_net"),
        ({"shared": True}, {}, "encoder"),
        ({}, {"encoder": encoder_params(4)}, "settings"),
        ({"energies": [{"type": "linear_chain"}]}, {}, "'local'"),
        ({"energies": [{"type": "local"}, {"type": "local"}]}, {}, "one"),
        ({}, {"bias": True}, "bias"),
    ],
)
def test_what_cannot_be_copied(net, taught, message):
    with pytest.raises(ConfigurationError, match=f"^copy_task_net: .*{message}"):
        loss_net(**net).check_copy(None if taught is None else task_net(**taught))


def test_energies_may_be_classes_and_functions():
    made = [LocalEnergy, partial(LinearChainEnergy, with_start=True)]
    net = LossNet(made, TagSequence(["O", "B-A", "I-A"]), task_net_dim=7)
    assert [type(energy) for energy in net.energies] == [LocalEnergy, LinearChainEnergy]
    assert net.energies[1].starts is not None and net.energies[0].label_embeddings.in_features == 7
