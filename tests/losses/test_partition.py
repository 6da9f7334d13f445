import math

import pytest
import torch
from allennlp.common import Lazy

from seal.energies import LabelInteractionEnergy, LocalEnergy, LogPartitionEnergy
from seal.losses import PartitionLoss
from seal.losses.energy_loss import Comparison
from seal.nets import LossNet
from seal.output_spaces import Candidates
from tests.label_sets import all_sets, label_set

LABELS = 3
SPACE = label_set(LABELS)
EVERY = all_sets(LABELS)


def all_outputs(rows, counts=None):
    """Every label set once, under a uniform distribution; or as often as counts say, under that of the counts."""
    outputs = EVERY.expand(rows, -1, -1)
    counts = torch.ones(2**LABELS).double() if counts is None else torch.tensor(counts).double()
    noise = (counts / counts.sum()).log().expand(rows, -1)
    return Candidates(outputs, noise, torch.zeros(rows).double(), counts.log().expand(rows, -1))


def loss_of(gold_energy, energy, counts=None, **settings):
    candidates = all_outputs(len(energy), counts)
    gold = torch.zeros(len(energy), LABELS)
    return PartitionLoss(**settings)(Comparison(gold_energy, energy, candidates, gold, SPACE))


@pytest.mark.parametrize("counts", [None, [5, 1, 2, 1, 3, 1, 1, 2]])
def test_with_the_exact_log_partition_it_is_the_likelihood(counts):
    torch.manual_seed(0)
    energy = torch.randn(4, 2**LABELS, dtype=torch.double, requires_grad=True)
    gold = torch.tensor([0, 3, 7, 2])
    exact = energy.gather(1, gold.unsqueeze(1)).squeeze(1) + (-energy).logsumexp(dim=1)
    tau = (-energy).logsumexp(dim=1, keepdim=True).detach().requires_grad_()
    whole = energy + tau
    found = loss_of(whole.gather(1, gold.unsqueeze(1)).squeeze(1), whole, counts)
    torch.testing.assert_close(found, exact)
    by_energy, by_tau = torch.autograd.grad(found.sum(), [energy, tau], retain_graph=True)
    torch.testing.assert_close(by_energy, torch.autograd.grad(exact.sum(), energy)[0])
    torch.testing.assert_close(by_tau, torch.zeros_like(by_tau))
    # Elsewhere it is more, by exp(d) - d - 1 where tau is d too low.
    for d in (-1.0, 0.5):
        whole = energy.detach() + tau.detach() - d
        above = loss_of(whole.gather(1, gold.unsqueeze(1)).squeeze(1), whole, counts) - exact
        torch.testing.assert_close(above, torch.full_like(above, math.exp(d) - d - 1))


def test_far_above_the_noise_it_goes_on_as_a_tangent():
    energy = torch.tensor([[-9.0] + [50.0] * 7], dtype=torch.double, requires_grad=True)
    # u = 9 + log 8; the others add nothing.
    value = loss_of(torch.zeros(1), energy, limit=2.0)
    assert value.item() == pytest.approx(math.exp(2) * (1 + 9 + math.log(8) - 2) / 8 - 1)
    assert torch.autograd.grad(value.sum(), energy)[0][0, 0].item() == pytest.approx(-math.exp(2) / 8)


def test_fillers_are_silent():
    energy = torch.randn(1, 4, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    noise, log_count = torch.full((1, 4), -1.0).double(), torch.tensor([[0.0, 0.0, -math.inf, -math.inf]])
    outputs, gold = EVERY[:4].unsqueeze(0), torch.zeros(1, LABELS)
    drawn = Candidates(outputs, noise, noise[:, 0], log_count)
    filled = PartitionLoss()(Comparison(energy[:, 0], energy, drawn, gold, SPACE))
    two = Candidates(outputs[:, :2], noise[:, :2], noise[:, 0])
    torch.testing.assert_close(filled, PartitionLoss()(Comparison(energy[:, 0], energy[:, :2], two, gold, SPACE)))


def test_the_learned_term_becomes_the_log_partition():
    torch.manual_seed(1)
    terms = [Lazy(LocalEnergy), Lazy(LabelInteractionEnergy, constructor_extras={"hidden_dim": 4})]
    others, partition = (LossNet(some, SPACE, 2).double() for some in (terms, [Lazy(LogPartitionEnergy)]))
    for parameter in others.parameters():
        torch.nn.init.normal_(parameter)
    hidden = torch.randn(5, 2, generator=torch.Generator().manual_seed(2)).double()
    energy = others(others.encode({}, hidden), EVERY.expand(5, -1, -1)).detach()
    exact = (-energy).logsumexp(dim=1)
    start = partition(partition.encode({}, hidden), EVERY[:1].expand(5, -1, -1))
    torch.testing.assert_close(start, torch.full_like(start, LABELS * math.log(2)))
    optimizer = torch.optim.LBFGS(partition.parameters(), max_iter=300, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        whole = energy + partition(partition.encode({}, hidden), EVERY.expand(5, -1, -1))
        loss = loss_of(whole[:, 0], whole).mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    learned = partition(partition.encode({}, hidden), EVERY[:1].expand(5, -1, -1)).squeeze(1).detach()
    assert (learned - exact).abs().max() < 0.05 and (start.squeeze(1) - exact).abs().max() > 0.5


def test_learned_from_draws_the_energy_is_the_log_probability():
    """Both at once, for a distribution that independent labels cannot be, from draws of independent labels."""
    generator = torch.Generator().manual_seed(3)
    truth = torch.tensor([0.3, 0.02, 0.02, 0.2, 0.02, 0.2, 0.2, 0.04]).double()
    logits = torch.tensor([[0.5, -0.3, 0.0]]).double()
    noise = SPACE.log_prob(logits, EVERY.unsqueeze(0))[0]
    energy, tau = (torch.zeros(size, dtype=torch.double, requires_grad=True) for size in (8, 1))
    optimizer, loss = torch.optim.Adam([energy, tau], lr=0.05), PartitionLoss()
    for step in range(400):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - step / 400)
        gold = torch.multinomial(truth, 256, replacement=True, generator=generator)
        drawn = torch.multinomial(noise.exp().expand(256, -1), 8, replacement=True, generator=generator)
        candidates = Candidates(EVERY[drawn], noise[drawn], noise[gold])
        whole = energy + tau
        value = loss(Comparison(whole[gold], whole[drawn], candidates, EVERY[gold], SPACE)).mean()
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
    found = (-energy - tau).exp().detach()
    assert abs(float(found.sum()) - 1) < 0.05 and (found - truth).abs().max() < 0.03
