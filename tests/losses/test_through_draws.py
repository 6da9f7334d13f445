import pytest
import torch
from allennlp.common.checks import ConfigurationError

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
    return loss.energy_of_draws(space, logits, energy, mask)


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


def test_one_draw_tells_nothing():
    with pytest.raises(ConfigurationError, match="task_loss.num_samples must be at least 2"):
        ThroughDrawsLoss(num_samples=1)
