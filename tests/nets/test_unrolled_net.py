"""A task-net that descends an energy, and the gradient through its steps."""

from functools import partial

import pytest
import torch
from torch.func import functional_call

from seal.energies import (
    LabelInteractionEnergy,
    LinearChainEnergy,
    MaskConvolutionEnergy,
    SelfAttentionEnergy,
    TagLanguageModelEnergy,
)
from seal.nets import TaskNetOutput, UnrolledNet
from seal.nets.encoders import Encoder, FeatureMlp, ImageConvolution
from seal.output_spaces import BinaryMask, CrfTagSequence
from tests.label_sets import label_set
from tests.spine import mask_of, tag_sequence, vocabulary

STEPS = 4


class Words(Encoder):
    """Vectors of words that are their own features."""

    def forward(self, inputs):
        return inputs["words"]

    def get_output_dim(self):
        return 3


def of_labels(num_labels=3, **settings):
    encoder = FeatureMlp(input_dim=4, hidden_dim=5, num_layers=1)
    energies = [partial(LabelInteractionEnergy, hidden_dim=6)]
    inputs = {"features": torch.randn(2, 4, dtype=torch.double)}
    return UnrolledNet(encoder, label_set(num_labels), energies, **settings).double(), inputs, None


def of_tags(space=None, **settings):
    energies = [LinearChainEnergy, partial(SelfAttentionEnergy, hidden_dim=4)]
    net = UnrolledNet(Words(), space or tag_sequence(3), energies, **settings).double()
    return net, {"words": torch.randn(2, 4, 3, dtype=torch.double)}, mask_of([4, 2])


def of_masks(**settings):
    encoder = ImageConvolution(channels=2, kernel_size=3)
    energies = [partial(MaskConvolutionEnergy, channels=[3], hidden_dims=[4], kernel_size=3)]
    net = UnrolledNet(encoder, BinaryMask([3, 4]), energies, ImageConvolution(2, 3), **settings).double()
    return net, {"image": torch.randn(2, 3, 3, 4, dtype=torch.double)}, None


PROBLEMS = [of_labels, of_tags, of_masks]


def problem_of(make, **settings):
    torch.manual_seed(0)
    net, inputs, mask = make(**{"num_steps": STEPS, "momentum": 0.4, "entropy_weight": 0.7, **settings})
    with torch.no_grad():
        for parameter in net.energies.parameters():
            parameter.normal_()
        net.log_step_sizes.normal_(std=0.3).sub_(1.0)
    return net, inputs, mask


def values(output):
    """All iterates, at real tokens and padding alike."""
    return torch.cat([output.earlier, output.logits.unsqueeze(1)], dim=1)


def gradients(net, inputs, mask):
    torch.manual_seed(1)
    found = values(net(inputs, mask))
    loss = (torch.randn_like(found) * found.sin()).sum()
    # A constant that is added to the energy has no effect.
    return torch.autograd.grad(loss, list(net.parameters()), allow_unused=True, materialize_grads=True)


@pytest.mark.parametrize("make", PROBLEMS)
def test_each_step_is_the_formula(make):
    net, inputs, mask = problem_of(make)
    hidden = net.encoder(inputs)
    local = net._head(hidden)
    read = hidden if net.energy_encoder is None else net.energy_encoder(inputs)
    features = [energy.condition(read, mask, inputs) for energy in net.energies]
    squeezed = local.squeeze(-1) if make is of_masks else local
    logits, velocity, iterates = squeezed, 0, []
    for step in range(STEPS):
        outputs = net.output_space.relax(logits, mask).detach().requires_grad_()
        energy = sum(term(each, outputs, mask) for term, each in zip(net.energies, features))
        slope = torch.autograd.grad(energy.sum(), outputs)[0].squeeze(1)
        velocity = net.momentum_logit.sigmoid() * velocity + slope - squeezed + 0.7 * logits
        logits = logits - net.log_step_sizes[step].exp() * velocity
        iterates.append(logits)
    expected = torch.stack(iterates, dim=1)
    output = net(inputs, mask)
    assert isinstance(output, TaskNetOutput) and torch.equal(output.hidden, hidden)
    assert output.logits.shape == local.shape and output.earlier.shape[:2] == (2, STEPS - 1)
    assert torch.allclose(values(output).view_as(expected), expected)


@pytest.mark.parametrize("make", PROBLEMS)
def test_the_gradient_is_that_of_finite_differences(make):
    net, inputs, mask = problem_of(make)
    names, parameters = zip(*net.named_parameters())

    def run(*given):
        return values(functional_call(net, dict(zip(names, given)), (inputs, mask)))

    assert torch.autograd.gradcheck(run, [parameter.detach().requires_grad_() for parameter in parameters])
    without = [name for name, gradient in zip(names, gradients(net, inputs, mask)) if not gradient.any()]
    assert without == (["energies.0._last.bias"] if make is of_masks else [])


def test_at_convergence_it_is_the_gradient_of_the_implicit_function():
    """`G(z) = dE/dy - F(x) + tau z` is 0 at the end of the descent; a random cost `c . z` of it."""
    torch.manual_seed(0)
    net, inputs, _ = of_labels(num_steps=300, step_size=0.3, momentum=0.2)
    logits = net(inputs).logits
    cost = torch.randn_like(logits)
    parameters = {
        name: parameter
        for name, parameter in net.named_parameters()
        if name not in ("log_step_sizes", "momentum_logit")
    }
    of_unrolled = torch.autograd.grad((cost * logits).sum(), list(parameters.values()), retain_graph=True)

    point = logits.detach().requires_grad_()
    hidden = net.encoder(inputs)
    outputs = point.sigmoid().unsqueeze(1)
    (slope,) = torch.autograd.grad(net.energies[0](None, outputs).sum(), outputs, create_graph=True)
    stationary = slope.squeeze(1) - net._head(hidden) + point
    assert stationary.abs().max() < 1e-9
    rows = [torch.autograd.grad(entry, point, retain_graph=True)[0].flatten() for entry in stationary.flatten()]
    adjoint = torch.linalg.solve(torch.stack(rows).T, cost.flatten()).view_as(stationary)
    of_implicit = torch.autograd.grad(-(adjoint * stationary).sum(), list(parameters.values()))
    for name, unrolled, implicit in zip(parameters, of_unrolled, of_implicit):
        assert torch.allclose(unrolled, implicit, rtol=1e-6, atol=1e-9), name
        assert unrolled.abs().max() > 1e-4
    steps = torch.autograd.grad((cost * logits).sum(), net.log_step_sizes)[0]
    assert steps.abs().max() < 1e-9


@pytest.mark.parametrize("make", PROBLEMS)
def test_a_checkpointed_descent_has_the_same_gradients_bit_for_bit(make):
    plain = gradients(*problem_of(make))
    assert all(map(torch.equal, plain, gradients(*problem_of(make, checkpoint=True))))


def test_dropout_in_a_checkpointed_step_is_drawn_once():
    def found(checkpoint):
        torch.manual_seed(0)
        net, inputs, mask = of_tags(checkpoint=checkpoint)
        for energy in net.energies:
            energy.dropout = 0.5
        return gradients(net, inputs, mask)

    assert all(map(torch.equal, found(False), found(True)))


@pytest.mark.parametrize("make", PROBLEMS)
@pytest.mark.parametrize("truncation", [STEPS, STEPS + 3])
def test_a_truncation_that_covers_all_steps_changes_nothing(make, truncation):
    plain = gradients(*problem_of(make))
    assert all(map(torch.equal, plain, gradients(*problem_of(make, truncation=truncation))))


def test_a_shorter_truncation_cuts_the_descent_from_its_end():
    """Of five steps, with 2: 1 | 2 3 | 4 5; the last iterate knows of the last two step sizes alone."""
    net, inputs, mask = problem_of(of_labels, num_steps=5, truncation=2)
    iterates = values(net(inputs, mask))
    assert torch.allclose(iterates, values(problem_of(of_labels, num_steps=5)[0](inputs, mask)))
    reached = [
        [bool(entry) for entry in torch.autograd.grad(iterate.sum(), net.log_step_sizes, retain_graph=True)[0]]
        for iterate in iterates.unbind(dim=1)
    ]
    assert reached == [
        [True, False, False, False, False],
        [False, True, False, False, False],
        [False, True, True, False, False],
        [False, False, False, True, False],
        [False, False, False, True, True],
    ]


def test_without_an_energy_it_is_a_linear_net():
    net, inputs, mask = problem_of(of_labels, entropy_weight=1.0)
    with torch.no_grad():
        net.energies[0].weights.weight.zero_()
    assert torch.allclose(net(inputs, mask).logits, net._head(net.encoder(inputs)))


@pytest.mark.parametrize("make", PROBLEMS)
def test_it_predicts_what_it_is_trained_to_and_keeps_no_graph(make):
    net, inputs, mask = problem_of(make)
    trained = net(inputs, mask).logits
    with torch.no_grad():
        output = net.eval()(inputs, mask)
    assert torch.equal(output.logits, trained) and not output.logits.requires_grad and output.earlier is None
    assert all(parameter.grad is None for parameter in net.parameters())


def test_an_lstm_among_the_energies_is_not_cudnns():
    net = UnrolledNet(Words(), tag_sequence(3), [TagLanguageModelEnergy], num_steps=2).double()
    enabled = []
    for module in net.energies.modules():
        if isinstance(module, torch.nn.LSTM):
            module.register_forward_hook(lambda *_: enabled.append(torch.backends.cudnn.enabled))
    before = torch.backends.cudnn.enabled
    gradients(net, *of_tags()[1:])
    assert enabled and not any(enabled) and torch.backends.cudnn.enabled == before


def test_words_of_padding_have_no_effect():
    net, inputs, mask = problem_of(of_tags)
    alone = net({"words": inputs["words"][1:, :2]}, mask[1:, :2]).logits
    assert torch.allclose(net(inputs, mask).logits[1:, :2], alone)


def test_a_chain_descends_over_its_marginals():
    """The slope of minus a chain's entropy, by its marginals, is its scores of tags, too."""
    space = CrfTagSequence(vocabulary(["O", "B-A", "I-A"])).double()
    net, inputs, mask = problem_of(partial(of_tags, space), entropy_weight=1.0, momentum=0.0)
    with torch.no_grad():
        for parameter in space.parameters():
            parameter.normal_()
    gradients(net, inputs, mask)
    with torch.no_grad():
        net.energies[0].transitions.zero_()
        net.energies[1].direction.weight.zero_()
    assert torch.allclose(net(inputs, mask).logits, net._head(inputs["words"]))
