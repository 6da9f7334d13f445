"""What the ranking losses estimate on label sets, by enumeration of gold and of every set of draws."""

import itertools

import pytest
import torch

from seal.losses import Comparison, NceRankingLoss, RankingLoss
from seal.output_spaces import Candidates
from tests.label_sets import all_sets, label_set


def expected_gradient(loss, energy, truth, logits, samples):
    """The gradient of `E_{gold ~ truth, draws ~ P(. | logits)} L` in the energies of all sets: `(sets,)`."""
    num_labels = logits.shape[1]
    space, sets = label_set(num_labels), all_sets(num_labels)
    log_noise = space.log_prob(logits, sets.unsqueeze(0))[0]
    energy = energy.clone().requires_grad_(True)
    cases = torch.tensor(list(itertools.product(range(len(sets)), repeat=samples + 1)))
    gold, drawn = cases[:, 0], cases[:, 1:]
    weight = truth[gold] * log_noise.exp()[drawn].prod(dim=1)
    assert weight.sum().item() == pytest.approx(1.0)
    candidates = Candidates(sets[drawn], log_noise[drawn], log_noise[gold])
    values = loss(Comparison(energy[gold], energy[drawn], candidates, sets[gold], space))
    return torch.autograd.grad((weight * values).sum(), energy)[0]


@pytest.mark.parametrize("num_labels, samples", [(2, 1), (2, 3), (3, 2), (5, 1), (8, 1)])
def test_nce_is_consistent(num_labels, samples):
    torch.manual_seed(num_labels)
    truth = torch.randn(2**num_labels, dtype=torch.double).softmax(0)  # No product over labels.
    logits = torch.randn(1, num_labels, dtype=torch.double)
    log_noise = label_set(num_labels).log_prob(logits, all_sets(num_labels).unsqueeze(0))[0]

    def size(loss, energy):
        return expected_gradient(loss, energy, truth, logits, samples).abs().max().item()

    assert size(NceRankingLoss(), -truth.log()) < 1e-12
    assert size(NceRankingLoss(), -truth.log() + 2.0) < 1e-12
    assert size(RankingLoss(), -truth.log() + log_noise) < 1e-12
    for energy in (torch.zeros_like(truth), -log_noise, -truth.log() + log_noise):
        assert size(NceRankingLoss(), energy) > 1e-3
