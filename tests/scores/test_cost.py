import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.scores import HammingCost, L1Cost, OneMinusScore, SoftF1, SoftIoU
from tests.spine import DenseSpace, mask_of, one_hot, tag_sequence


def test_a_worked_example():
    outputs, gold = torch.tensor([[[0.9, 0.2, 0.6]]]), torch.tensor([[1, 0, 1]])
    assert L1Cost()(DenseSpace(), outputs, gold).item() == pytest.approx(0.7)
    assert HammingCost()(DenseSpace(), outputs.round(), gold).item() == 0
    assert HammingCost()(DenseSpace(), 1 - outputs.round(), gold).item() == 3
    assert OneMinusScore(SoftIoU())(DenseSpace(), outputs, gold).item() == pytest.approx(1 - 0.6818181818)
    assert OneMinusScore(SoftIoU(), scale=5)(DenseSpace(), outputs, gold).item() == pytest.approx(5 - 5 * 0.6818181818)
    with pytest.raises(ConfigurationError, match="cost.scale must be above 0, found 0"):
        OneMinusScore(SoftIoU(), scale=0)


@pytest.mark.parametrize("score", [SoftF1(zero_division=0.0), SoftIoU(zero_division=0.5)])
def test_gold_costs_nothing_also_where_it_is_empty(score):
    gold = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
    assert OneMinusScore(score)(DenseSpace(), gold.unsqueeze(1), gold).tolist() == [[0], [0]]
    # The score itself keeps its value.
    assert score(DenseSpace(), gold.unsqueeze(1), gold)[0].item() < 1


def test_discrete_sequences_count_wrong_tokens():
    torch.manual_seed(0)
    space, lengths = tag_sequence(3), [5, 2]
    outputs, gold, mask = torch.randint(3, (2, 8, 5)), torch.randint(3, (2, 5)), mask_of([5, 2])
    outputs[:, 0] = gold
    l1, hamming = L1Cost()(space, outputs, gold, mask), HammingCost()(space, outputs, gold, mask)
    f1 = OneMinusScore(SoftF1())(space, outputs, gold, mask)
    for b, n in enumerate(lengths):
        for k in range(8):
            wrong = sum(a != g for a, g in zip(outputs[b, k, :n].tolist(), gold[b, :n].tolist()))
            assert (l1[b, k].item(), hamming[b, k].item()) == (2 * wrong, wrong)
            assert f1[b, k].item() == pytest.approx(wrong / n)
    assert l1[:, 0].tolist() == hamming[:, 0].tolist() == f1[:, 0].tolist() == [0, 0]


def test_relaxed_sequences_computed_densely():
    torch.manual_seed(1)
    space, lengths, gold = tag_sequence(3), [4, 1], torch.randint(3, (2, 4))
    outputs = torch.randn(2, 5, 4, 3, dtype=torch.double).softmax(-1)
    l1 = L1Cost()(space, outputs, gold, mask_of(lengths))
    for b, n in enumerate(lengths):
        dense = (outputs[b, :, :n] - one_hot(gold[b, :n], 3)).abs().sum(dim=(-1, -2))
        assert torch.allclose(l1[b], dense)
    relaxed_gold = one_hot(gold, 3).unsqueeze(1)
    assert L1Cost()(space, relaxed_gold, gold, mask_of(lengths)).abs().max() == 0


def test_gradient_equals_the_dense_one():
    """`U - I` is written for rows that sum to 1; on them it moves as the sum of absolute differences does."""
    torch.manual_seed(2)
    space, gold = tag_sequence(3), torch.tensor([[0, 2, 1]])
    logits = torch.randn(1, 3, 3, dtype=torch.double, requires_grad=True)
    (found,) = torch.autograd.grad(L1Cost()(space, space.relax(logits), gold).sum(), logits)
    (dense,) = torch.autograd.grad((logits.softmax(-1) - one_hot(gold, 3)).abs().sum(), logits)
    assert found.abs().max() > 0.1 and torch.allclose(found, dense)
