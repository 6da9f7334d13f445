import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from seal.scores import HammingCost, L1Cost, OneMinusScore, Score, SoftF1, SoftIoU, TokenAccuracy
from tests.label_sets import label_set
from tests.spine import DenseSpace, mask_of, one_hot, tag_sequence


def test_a_worked_example():
    outputs, gold = torch.tensor([[[0.9, 0.2, 0.6]]]), torch.tensor([[1, 0, 1]])
    iou, wrong = pytest.approx(0.6818181818), 1 - outputs.round()
    assert SoftIoU()(DenseSpace(), outputs, gold).item() == iou
    assert SoftF1()(DenseSpace(), outputs, gold).item() == pytest.approx(0.8108108108)
    assert L1Cost()(DenseSpace(), outputs, gold).item() == pytest.approx(0.7)
    assert [HammingCost()(DenseSpace(), these, gold).item() for these in (outputs.round(), wrong)] == [0, 3]
    for scale in (1, 5):
        assert 1 - OneMinusScore(SoftIoU(), scale)(DenseSpace(), outputs, gold).item() / scale == iou


def test_a_worked_example_of_sequences():
    # min and max over (token, tag): 0.9 + 0.8 + 0.6 and (1 + 0.1) + (1 + 0.2) + (1 + 0.4).
    outputs = torch.tensor([[[[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]]])
    gold = torch.tensor([[0, 1, 0]])
    assert SoftIoU()(tag_sequence(2), outputs, gold).item() == pytest.approx(2.3 / 3.7)
    assert SoftF1()(tag_sequence(2), outputs, gold).item() == pytest.approx(2 * 2.3 / 6)


def test_discrete_sequences():
    """Soft F1 is the share of equal tokens, IoU follows from it; padding does not count."""
    gold, mask = torch.tensor([[0, 1, 2, 1], [2, 0, 0, 0]]), mask_of([4, 2])
    outputs = torch.tensor([[[0, 1, 2, 1], [0, 1, 0, 0], [1, 0, 0, 0]], [[2, 0, 1, 1], [2, 1, 0, 0], [0, 1, 0, 0]]])
    share = [[1.0, 0.5, 0.0], [1.0, 0.5, 0.0]]
    assert SoftF1()(tag_sequence(3), outputs, gold, mask).tolist() == share
    # Of 2 n (token, tag) pairs, e wrong tokens leave n - e in the intersection and n + e in the union.
    iou = [[1.0, pytest.approx(1 / 3), 0.0]] * 2
    assert SoftIoU()(tag_sequence(3), outputs, gold, mask).tolist() == iou


def test_relaxed_sequences_computed_densely():
    torch.manual_seed(0)
    lengths = [4, 1]
    outputs = torch.randn(2, 5, 4, 3, dtype=torch.double).softmax(-1)
    gold = torch.randint(3, (2, 4))
    iou, f1 = (score(tag_sequence(3), outputs, gold, mask_of(lengths)) for score in (SoftIoU(), SoftF1()))
    for b, n in enumerate(lengths):
        dense = one_hot(gold[b, :n], 3)
        for k in range(5):
            smaller = torch.minimum(outputs[b, k, :n], dense).sum().item()
            larger = torch.maximum(outputs[b, k, :n], dense).sum().item()
            assert iou[b, k].item() == pytest.approx(smaller / larger)
            total = outputs[b, k, :n].sum().item() + dense.sum().item()
            assert f1[b, k].item() == pytest.approx(2 * smaller / total)
    assert torch.allclose(f1, 2 * iou / (1 + iou))


@pytest.mark.parametrize("score_class", [SoftF1, SoftIoU])
@pytest.mark.parametrize("zero_division", [1.0, 0.0])
def test_where_both_are_empty(score_class, zero_division):
    outputs = torch.zeros(2, 1, 3, requires_grad=True)
    gold = torch.tensor([[0, 0, 0], [1, 0, 0]])
    values = score_class(zero_division)(DenseSpace(), outputs, gold)
    assert values.tolist() == [[zero_division], [0.0]]
    (gradient,) = torch.autograd.grad(values.sum(), outputs)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("score", [SoftF1(), SoftIoU()])
def test_gradient_through_the_logits(score):
    torch.manual_seed(1)
    space, gold = tag_sequence(3), torch.tensor([[0, 2, 1], [1, 0, 0]])
    logits = torch.randn(2, 3, 3, dtype=torch.double, requires_grad=True)
    mask = mask_of([3, 1])
    assert torch.autograd.gradcheck(lambda z: score(space, space.relax(z, mask), gold, mask), logits)


def test_token_accuracy_is_the_share_of_right_tokens():
    torch.manual_seed(0)
    gold, outputs, mask = torch.randint(4, (2, 5)), torch.randint(4, (2, 6, 5)), mask_of([5, 3])
    found = Score.from_params(Params({"type": "token_accuracy"}))(tag_sequence(4), outputs, gold, mask)
    for row, length in enumerate([5, 3]):
        for sample in range(6):
            right = [a == b for a, b in zip(outputs[row, sample].tolist(), gold[row].tolist())][:length]
            assert float(found[row, sample]) == pytest.approx(sum(right) / length)


# Costs.


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


def test_the_cost_of_relaxed_sequences_computed_densely():
    torch.manual_seed(1)
    space, lengths, gold = tag_sequence(3), [4, 1], torch.randint(3, (2, 4))
    outputs = torch.randn(2, 5, 4, 3, dtype=torch.double).softmax(-1)
    l1 = L1Cost()(space, outputs, gold, mask_of(lengths))
    for b, n in enumerate(lengths):
        dense = (outputs[b, :, :n] - one_hot(gold[b, :n], 3)).abs().sum(dim=(-1, -2))
        assert torch.allclose(l1[b], dense)
    relaxed_gold = one_hot(gold, 3).unsqueeze(1)
    assert L1Cost()(space, relaxed_gold, gold, mask_of(lengths)).abs().max() == 0


def test_the_gradient_of_a_cost_equals_the_dense_one():
    """`U - I` is written for rows that sum to 1; on them it moves as the sum of absolute differences does."""
    torch.manual_seed(2)
    space, gold = tag_sequence(3), torch.tensor([[0, 2, 1]])
    logits = torch.randn(1, 3, 3, dtype=torch.double, requires_grad=True)
    (found,) = torch.autograd.grad(L1Cost()(space, space.relax(logits), gold).sum(), logits)
    (dense,) = torch.autograd.grad((logits.softmax(-1) - one_hot(gold, 3)).abs().sum(), logits)
    assert found.abs().max() > 0.1 and torch.allclose(found, dense)


@pytest.mark.parametrize(
    "make, named",
    [
        *((lambda kind=kind: kind(-0.5), "score.zero_division.*-0.5") for kind in (SoftF1, SoftIoU, TokenAccuracy)),
        (lambda: SoftF1(float("nan")), "score.zero_division.*nan"),
        (lambda: TokenAccuracy()(label_set(3), torch.zeros(1, 1, 3), torch.zeros(1, 3)), "'token_accuracy'.*LabelSet"),
        (lambda: OneMinusScore(SoftIoU(), scale=0), "cost.scale"),
    ],
)
def test_a_wrong_setting_is_named(make, named):
    with pytest.raises(ConfigurationError, match=named):
        make()
