import torch

from seal.losses import TaskNetRankingLoss
from tests.label_sets import all_sets, label_set
from tests.spine import mask_of, tag_sequence


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

    def loss(logits):
        # The draws stay the same where logits move by as little as they do here.
        torch.manual_seed(1)
        return TaskNetRankingLoss(num_samples=5).supervised(space, logits, gold)

    torch.manual_seed(1)
    outputs = space.stack(gold.unsqueeze(1), space.sample(logits, 5))
    expected = -space.log_prob(logits, outputs).log_softmax(dim=1)[:, 0]
    assert torch.allclose(loss(logits), expected)
    (gradient,) = torch.autograd.grad(loss(logits).sum(), logits)
    assert torch.allclose(gradient, torch.autograd.grad(expected.sum(), logits)[0]) and gradient.abs().min() > 0
    assert torch.autograd.gradcheck(loss, logits)


def test_padding_takes_no_part(monkeypatch):
    """Every row of a padded batch as alone, with its own part of the same draws; noise stands at padding."""
    torch.manual_seed(0)
    lengths, gold, draws = [4, 1, 2], torch.randint(3, (3, 4)), torch.randint(3, (3, 5, 4))
    space, logits, mask = tag_sequence(3), torch.randn(3, 4, 3, dtype=torch.double), mask_of(lengths)
    loss, masks = TaskNetRankingLoss(num_samples=5), []

    def supervised(rows, length, mask=None):
        def sample(logits, number, mask=None):
            masks.append(mask)
            return draws[rows, :number, :length]

        monkeypatch.setattr(space, "sample", sample)
        return loss.supervised(space, logits[rows, :length], gold[rows, :length], mask)

    found = supervised(slice(3), 4, mask)
    for i, n in enumerate(lengths):
        assert torch.allclose(found[i : i + 1], supervised(slice(i, i + 1), n))
    # Drawn under the mask, too.
    assert masks == [mask, None, None, None]
