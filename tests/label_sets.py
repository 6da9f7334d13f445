"""What the tests of label sets share: every label set there is, and problems of inference over them."""

import itertools

import torch
from allennlp.common import Lazy

from seal.energies import LabelInteractionEnergy, LocalEnergy
from seal.nets import LossNet
from seal.nets.encoders import FeatureMlp
from seal.output_spaces import LabelSet
from seal.samplers import GradientBasedInference, SamplingProblem
from tests.spine import vocabulary


def label_set(num_labels, **more):
    return LabelSet(vocabulary([f"l{i}" for i in range(num_labels)], "labels"), **more)


def all_sets(num_labels):
    """`(2 ** num_labels, num_labels)`."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=num_labels)), dtype=torch.double)


def problem_of(energy, num_labels=3, batch=1, gold=None):
    logits = torch.zeros(batch, num_labels, dtype=torch.double)
    gold = torch.zeros(batch, num_labels).long() if gold is None else torch.tensor(gold)
    return SamplingProblem(logits, gold, None, label_set(num_labels), energy)


def bowl(*center):
    """`1/2 ||y - center||^2`."""
    center = torch.tensor(center, dtype=torch.double)
    return lambda outputs: 0.5 * (outputs - center).square().sum(dim=-1)


def infer(problem, **settings):
    found = GradientBasedInference(**settings)(problem)
    assert found.log_count is None and found.noise_log_prob is None
    outputs = found.outputs
    assert not outputs.requires_grad and outputs.min() >= 0 and outputs.max() <= 1
    return outputs


def random_loss_net(num_labels, patterns=4, sign=None, seed=0):
    """A loss-net with its encoded batch of two; `sign` is that of all weights of the interactions."""
    torch.manual_seed(seed)
    net = LossNet(
        [Lazy(LocalEnergy), Lazy(LabelInteractionEnergy, constructor_extras={"hidden_dim": patterns})],
        label_set(num_labels),
        0,
        FeatureMlp(4, 1, input_dim=3),
    ).double()
    with torch.no_grad():
        for parameter in net.energies.parameters():
            parameter.normal_(std=2)
        if sign:
            net.energies[1].weights.weight.abs_().mul_(sign)
    return net, net.encode({"features": torch.randn(2, 3, dtype=torch.double)}, None)


def random_energies(num_labels, seed=0):
    """`E(y) = -a.y - sum_p softplus(w_p.y)` of every label set, for two instances: `(2, 2 ** num_labels)`."""
    generator = torch.Generator().manual_seed(seed)
    sets = all_sets(num_labels)
    local = torch.randn(2, num_labels, generator=generator, dtype=torch.double)
    patterns = torch.randn(3, num_labels, generator=generator, dtype=torch.double)
    return -local @ sets.T - torch.nn.functional.softplus(sets @ patterns.T).sum(dim=1)
