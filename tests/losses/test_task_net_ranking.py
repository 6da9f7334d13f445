import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.losses import TaskNetRankingLoss
from tests.label_sets import all_sets, label_set


def test_it_is_the_ranking_loss_of_gold_among_draws(monkeypatch):
    torch.manual_seed(0)
    space = label_set(3)
    logits = torch.randn(2, 3, dtype=torch.double)
    gold = torch.tensor([[1, 0, 1], [0, 0, 0]])
    draws = all_sets(3)[torch.tensor([[0, 5, 5, 7], [2, 3, 0, 1]])]
    monkeypatch.setattr(space, "sample", lambda logits, number, mask=None: draws[:, :number])
    loss = TaskNetRankingLoss(num_samples=4).supervised(space, logits, gold)
    for i in range(2):
        probability = torch.where(all_sets(3) == 1, logits[i].sigmoid(), 1 - logits[i].sigmoid()).prod(dim=1)
        place = [int(4 * a + 2 * b + c) for a, b, c in [gold[i].tolist(), *draws[i].long().tolist()]]
        of_candidates = probability[place]
        assert torch.allclose(loss[i], -(of_candidates[0] / of_candidates.sum()).log())


def test_gradient_passes_through_log_probabilities_alone():
    torch.manual_seed(0)
    space, gold = label_set(3), torch.tensor([[1, 0, 1], [0, 1, 0]])
    logits = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    loss = TaskNetRankingLoss(num_samples=5)

    def value(logits):
        torch.manual_seed(1)
        # The draws of the logits as they are.
        fixed = space.sample(start, 5)
        outputs = space.stack(gold.unsqueeze(1), fixed)
        return -space.log_prob(logits, outputs).log_softmax(dim=1)[:, 0]

    start = logits.detach().clone()
    torch.manual_seed(1)
    (gradient,) = torch.autograd.grad(loss.supervised(space, logits, gold).sum(), logits)
    (expected,) = torch.autograd.grad(value(logits).sum(), logits)
    assert torch.allclose(gradient, expected) and gradient.abs().min() > 0
    assert torch.autograd.gradcheck(value, logits)


def test_settings():
    assert TaskNetRankingLoss().energy_weight == 0
    with pytest.raises(ConfigurationError, match="task_loss.num_samples: at least 1, not 0"):
        TaskNetRankingLoss(num_samples=0)
    with pytest.raises(ConfigurationError, match="cross_entropy_weight"):
        TaskNetRankingLoss(cross_entropy_weight=0)
