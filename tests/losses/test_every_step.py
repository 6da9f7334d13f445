import pytest
import torch
from allennlp.common import Params

from seal.losses import EveryStepLoss, TaskLoss
from tests.label_sets import label_set
from tests.spine import mask_of, tag_sequence

STEPS = 4


@pytest.mark.parametrize("weights, shares", [("late", [1 / 4, 1 / 3, 1 / 2, 1]), ("equal", [1, 1, 1, 1])])
@pytest.mark.parametrize("tags", [True, False])
def test_it_is_the_weighted_mean_over_steps(weights, shares, tags):
    torch.manual_seed(0)
    space, shape, mask = label_set(3), (3,), None
    gold = torch.randint(2, (2, 3))
    if tags:
        space, shape, mask = tag_sequence(3), (5, 3), mask_of([5, 2])
        gold = torch.randint(3, (2, 5))
    iterates = torch.randn(2, STEPS, *shape, dtype=torch.double)
    loss = TaskLoss.from_params(Params({"type": "every_step", "weights": weights}))
    found = loss.supervised_in_steps(space, iterates[:, :-1], iterates[:, -1], gold, mask)
    each = [space.cross_entropy(iterates[:, step], gold, mask) for step in range(STEPS)]
    assert torch.allclose(found, sum(share * value for share, value in zip(shares, each)) / sum(shares))


def test_a_single_step_is_cross_entropy():
    space, logits, gold = label_set(3), torch.randn(2, 3), torch.tensor([[1, 0, 1], [0, 0, 1]])
    found = EveryStepLoss().supervised_in_steps(space, logits.new_zeros(2, 0, 3), logits, gold)
    assert torch.equal(found, space.cross_entropy(logits, gold))


def test_other_losses_count_the_last_step_alone():
    space, logits, gold = label_set(3), torch.randn(2, 3), torch.tensor([[1, 0, 1], [0, 0, 1]])
    found = TaskLoss().supervised_in_steps(space, torch.randn(2, 4, 3), logits, gold)
    assert torch.equal(found, space.cross_entropy(logits, gold))
