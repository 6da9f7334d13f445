import itertools
import math

import pytest
import torch

from seal.losses import ThroughDrawsLoss
from seal.output_spaces import CrfTagSequence
from tests.label_sets import all_sets, label_set
from tests.spine import LABELS, all_sequences, mask_of, vocabulary


def exact(space, logits, outputs, energy):
    """`-log E_q[exp(-E)]` by enumeration: outputs `(number, *output)` and their energies `(batch, number)`."""
    log_q = space.log_prob(logits, outputs.expand(len(logits), *outputs.shape))
    return -(log_q - energy).logsumexp(dim=1)


def of_draws(space, logits, energy, number, mask=None):
    loss = ThroughDrawsLoss(num_samples=number)
    return loss.energy_of_samples(space, logits, energy, mask)


def test_value_and_gradient_are_those_of_the_expectation():
    torch.manual_seed(0)
    space, logits = label_set(3), torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    table = 2 * torch.randn(2, 8, dtype=torch.double)
    place = torch.tensor([4.0, 2.0, 1.0], dtype=torch.double)

    def energy(outputs):
        return table.gather(1, (outputs.double() @ place).long())

    wanted = exact(space, logits, all_sets(3), table)
    found = of_draws(space, logits, energy, 200_000)
    assert torch.allclose(found, wanted, atol=0.02)
    gradients = [torch.autograd.grad(value.sum(), logits)[0] for value in (found, wanted)]
    assert gradients[1].abs().max() > 0.1 and torch.allclose(*gradients, atol=0.02)


def mean_gradient(space, logits, table, number, **settings):
    """The expectation of the gradient and of the value over all `8^K` lists of draws, each with its probability."""
    every, loss = all_sets(3), ThroughDrawsLoss(number, **settings)
    log_q = space.log_prob(logits, every.unsqueeze(0))[0].detach()
    mean, value = torch.zeros_like(logits), 0.0
    # The order of the draws does not count.
    for places in itertools.combinations_with_replacement(range(len(every)), number):
        counts = torch.tensor(places).bincount(minlength=len(every))
        orders = math.factorial(number) / math.prod(math.factorial(count) for count in counts.tolist())
        probability = orders * log_q[list(places)].sum().exp()
        distinct = counts.nonzero().squeeze(1)
        fixed = every[distinct].unsqueeze(0), counts[distinct].double().log().unsqueeze(0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(space), "sample_distinct", lambda *_, drawn=fixed: drawn)
            found = loss.energy_of_samples(space, logits, lambda _, at=distinct: table[at].unsqueeze(0))
        mean += probability * torch.autograd.grad(found.sum(), logits)[0]
        value += (probability * found).item()
    return mean, value


def test_it_is_consistent_and_not_unbiased_and_what_the_jackknife_takes_off():
    torch.manual_seed(1)
    space, logits = label_set(3), torch.randn(1, 3, dtype=torch.double, requires_grad=True)
    table = 3 * torch.randn(8, dtype=torch.double)
    wanted = exact(space, logits, all_sets(3), table.unsqueeze(0))
    (gradient,) = torch.autograd.grad(wanted.sum(), logits)
    bias, corrected, values = [], [], []
    for number in (2, 3, 5):
        mean, value = mean_gradient(space, logits, table, number)
        bias.append(float((mean - gradient).norm() / gradient.norm()))
        values.append(value)
        mean, same = mean_gradient(space, logits, table, number, jackknife=True)
        corrected.append(float((mean - gradient).norm() / gradient.norm()))
        assert same == value
    assert bias[0] > bias[1] > bias[2] > 0.1 and values[0] > values[1] > values[2] > wanted.item()
    assert all(less < most / 1.2 for less, most in zip(corrected, bias)) and corrected[2] < bias[2] / 1.8


def test_the_jackknife_with_equal_draws_and_fillers():
    torch.manual_seed(0)
    space, logits = label_set(2), torch.tensor([[0.3, -1.0], [20.0, 20.0]], requires_grad=True)
    loss, energy = ThroughDrawsLoss(6, jackknife=True), lambda outputs: 2e3 * outputs.sum(dim=2)
    drawn, log_count = space.sample_distinct(logits.detach(), 6)
    assert log_count[1].isneginf().any()
    counts = log_count.exp().round().int().tolist()
    listed = torch.stack([drawn[i].repeat_interleave(torch.tensor(counts[i]), dim=0) for i in range(2)])
    weights = (-energy(listed)).softmax(dim=1)
    others = [[k for k in range(6) if k != left] for left in range(6)]
    without = torch.zeros(2, 6)
    for rest in others:
        without[:, rest] += (-energy(listed[:, rest])).softmax(dim=1) / 6
    wanted = (-(6 * weights - 5 * without - 1 / 6) * space.log_prob(logits, listed)).sum()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(space), "sample_distinct", lambda *_: (drawn, log_count))
        found = loss.energy_of_samples(space, logits, energy).sum()
    one, other = (torch.autograd.grad(value, logits)[0] for value in (found, wanted))
    assert one.abs().sum() > 0 and torch.allclose(one, other, atol=1e-5)


def test_of_whole_sequences_under_a_crf():
    torch.manual_seed(0)
    space = CrfTagSequence(vocabulary(LABELS), legal=True).double()
    logits = torch.randn(1, 2, 5, dtype=torch.double, requires_grad=True)
    every = all_sequences(5, 2)
    table = 2 * torch.randn(25, dtype=torch.double)
    found = of_draws(space, logits, lambda outputs: table[5 * outputs[..., 0] + outputs[..., 1]], 200_000)
    legal = ~space.log_prob(logits, every.unsqueeze(0))[0].isinf()
    wanted = exact(space, logits, every[legal], table[legal].unsqueeze(0))
    inputs = (logits, space.crf.transitions)
    for one, other in zip(torch.autograd.grad(found.sum(), inputs), torch.autograd.grad(wanted.sum(), inputs)):
        assert torch.allclose(one, other, atol=0.02)
    assert torch.allclose(found, wanted, atol=0.02)


def test_equal_energies_have_no_gradient_and_padding_takes_no_part():
    torch.manual_seed(0)
    space, mask = label_set(4), None
    logits = torch.randn(3, 4, requires_grad=True)
    value = of_draws(space, logits, lambda outputs: torch.full(outputs.shape[:2], 1.5), 10, mask)
    assert torch.allclose(value, torch.full((3,), 1.5))
    assert torch.autograd.grad(value.sum(), logits)[0].abs().max() < 1e-6
    space, mask = CrfTagSequence(vocabulary(LABELS)), mask_of([4, 2])
    logits = torch.randn(2, 4, 5, requires_grad=True)
    value = of_draws(space, logits, lambda tags: tags.float().sum(dim=-1), 10, mask)
    (gradient,) = torch.autograd.grad(value.sum(), logits)
    assert gradient[0].abs().sum() > 0 and not gradient[1, 2:].any()
