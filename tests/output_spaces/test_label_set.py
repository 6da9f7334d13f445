import math

import pytest
import torch
from scipy.stats import kstest

from seal.scores import HammingCost, L1Cost, SoftF1, SoftIoU
from tests.label_sets import all_sets, label_set
from tests.spine import DenseSpace


def probability(logits, labels):
    """The product of Bernoulli probabilities in Python floats."""
    product = 1.0
    for logit, present in zip(logits.tolist(), labels):
        on = 1 / (1 + math.exp(-logit))
        product *= on if present else 1 - on
    return product


@pytest.mark.parametrize("num_labels", [1, 3, 6])
def test_probabilities_of_all_sets(num_labels):
    torch.manual_seed(0)
    space, logits = label_set(num_labels), 2 * torch.randn(2, num_labels, dtype=torch.double)
    outputs = all_sets(num_labels).expand(2, -1, -1)
    log_prob = space.log_prob(logits, outputs)
    assert torch.allclose(log_prob.exp().sum(dim=1), torch.ones(2, dtype=torch.double))
    for i in range(2):
        expected = [math.log(probability(logits[i], labels)) for labels in outputs[i].tolist()]
        assert log_prob[i].tolist() == pytest.approx(expected)
    for dtype in (torch.double, torch.long, torch.bool):
        found = space.cross_entropy(logits, outputs[:, 1].to(dtype))
        assert found.tolist() == pytest.approx((-log_prob[:, 1]).tolist())


def test_cross_entropy_of_an_example():
    logits = torch.tensor([[0.9, 0.2, 0.6]], dtype=torch.double).logit().requires_grad_(True)
    value = label_set(3).cross_entropy(logits, torch.tensor([[1, 0, 1]]))
    assert value.item() == pytest.approx(0.8393296907, abs=1e-10)
    gradient = torch.autograd.grad(value.sum(), logits)[0]
    assert gradient[0].tolist() == pytest.approx([-0.1, 0.2, -0.4])


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_extreme_logits(dtype):
    """A sure and right label costs what is left of it, not 0 by rounding; a wrong one costs its logit."""
    space = label_set(2)
    logits = torch.tensor([[50.0, -50.0]], dtype=dtype, requires_grad=True)
    outputs = torch.tensor([[[1, 0], [0, 1], [1, 1], [0, 0]]], dtype=dtype)
    log_prob = space.log_prob(logits, outputs)
    tiny = -2 * math.exp(-50)
    assert log_prob[0].tolist() == pytest.approx([tiny, -100.0, -50.0, -50.0], rel=1e-6, abs=0)
    for k in range(4):
        (gradient,) = torch.autograd.grad(log_prob[0, k], logits, retain_graph=True)
        expected = [float(y) - (i == 0) for i, y in enumerate(outputs[0, k])]
        assert gradient[0].tolist() == pytest.approx(expected, abs=1e-20)
    for size in (1e3, 1e30):
        far = (logits.detach().sign() * size).requires_grad_(True)
        values = space.log_prob(far, outputs)
        assert values.isfinite().all()
        assert torch.autograd.grad(values.sum(), far)[0].isfinite().all()
        relaxed = space.relax(far)
        assert relaxed.tolist() == [[[1, 0]]] and torch.autograd.grad(relaxed.sum(), far)[0].isfinite().all()
        assert space.sample(far, 50)[0].mean(dim=0).tolist() == [1, 0]


def test_half_precision_does_not_round_sums():
    """4,000 labels: in half precision a count above 2,048 and a log-probability are off by whole units."""
    space, count = label_set(4000), 4000
    gold = torch.ones(1, count).long()
    logits = torch.full((1, count), 0.125, dtype=torch.bfloat16)
    expected = -count * math.log1p(math.exp(-0.125))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert -space.cross_entropy(logits, gold).item() == pytest.approx(expected, rel=1e-5)
        intersection, union = space.overlap(torch.ones(1, 1, count).bfloat16(), gold)
    assert intersection.item() == union.item() == count


def test_gradients():
    torch.manual_seed(3)
    space, gold = label_set(3), torch.tensor([[1, 0, 1], [0, 0, 0]])
    logits = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    scores = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    outputs = torch.rand(2, 4, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(space.log_prob, (logits, outputs))
    assert torch.autograd.gradcheck(space.inner, (scores, outputs))
    assert torch.autograd.gradcheck(lambda y: space.overlap(y, gold), outputs)
    assert torch.autograd.gradcheck(space.relax, logits)


@pytest.mark.parametrize("num_labels", [1, 4])
def test_overlap_against_min_and_max(num_labels):
    torch.manual_seed(2)
    space, gold = label_set(num_labels), all_sets(num_labels)
    outputs = torch.cat([all_sets(num_labels), torch.rand(8, num_labels, dtype=torch.double)])
    outputs = outputs.expand(len(gold), -1, -1)
    for found, expected in zip(space.overlap(outputs, gold.long()), DenseSpace().overlap(outputs, gold)):
        assert torch.allclose(found, expected)


def test_overlap_of_an_example():
    space, gold = label_set(3), torch.tensor([[1, 0, 1]])
    outputs = torch.tensor([[[0.9, 0.2, 0.6], [1, 0, 1]]], dtype=torch.double)
    assert SoftF1()(space, outputs, gold)[0].tolist() == pytest.approx([0.8108108108, 1])
    assert SoftIoU()(space, outputs, gold)[0].tolist() == pytest.approx([0.6818181818, 1])
    assert L1Cost()(space, outputs, gold)[0].tolist() == pytest.approx([0.7, 0])
    wrong = torch.tensor([[[0, 1, 1]]], dtype=torch.double)
    assert HammingCost()(space, wrong, gold).item() == 2


def test_the_cost_has_a_slope_at_corners():
    """Where output and gold are equal, the slope is that of the way into [0, 1]; `min` would halve it."""
    space, gold = label_set(2), torch.tensor([[1, 0]])
    outputs = gold.double().unsqueeze(1).requires_grad_(True)
    (gradient,) = torch.autograd.grad(L1Cost()(space, outputs, gold).sum(), outputs)
    assert gradient.tolist() == [[[-1, 1]]]


def test_relax_and_straight_through():
    logits = torch.tensor([[-2.0, 0.0, 3.0]], requires_grad=True)
    space = label_set(3)
    relaxed = space.relax(logits)
    assert relaxed.shape == (1, 1, 3)
    assert relaxed[0, 0].tolist() == pytest.approx([1 / (1 + math.exp(-z)) for z in (-2, 0, 3)])
    nearest, weights = space.straight_through(relaxed), torch.tensor([1.0, 2.0, 3.0])
    assert nearest.detach().round(decimals=6).tolist() == [[[0, 1, 1]]]
    (through,) = torch.autograd.grad((nearest * weights).sum(), logits, retain_graph=True)
    (plain,) = torch.autograd.grad((relaxed * weights).sum(), logits)
    assert torch.equal(through, plain) and through.abs().min() > 0


def test_decode_is_the_most_probable_of_all_sets():
    torch.manual_seed(0)
    logits, space = torch.randn(3, 5, dtype=torch.double), label_set(5)
    best = space.log_prob(logits, all_sets(5).expand(3, -1, -1)).argmax(dim=1)
    assert torch.equal(space.decode(logits), all_sets(5)[best])
    assert space.decode(torch.tensor([[0.0, -1e-30]])).tolist() == [[1, 0]]


def test_stack_brings_gold_to_the_type_of_the_others():
    space, gold = label_set(2), torch.tensor([[1, 0]])
    stacked = space.stack(gold.unsqueeze(1), torch.full((1, 2, 2), 0.5, dtype=torch.double))
    assert stacked.dtype == torch.double and stacked.tolist() == [[[1, 0], [0.5, 0.5], [0.5, 0.5]]]
    assert space.stack(gold.unsqueeze(1)).dtype == torch.float
    mixed = space.stack(torch.ones(1, 1, 2), torch.ones(1, 1, 2).double())
    assert mixed.dtype == torch.double


def rare_logits():
    """Two instances of 100 labels with three that are likely, the last among them, and the others hardly ever."""
    logits = torch.full((2, 100), -12.0)
    logits[0, [0, 40, 99]] = torch.tensor([0.5, -1.0, 0.0])
    logits[1, [0, 40, 99]] = torch.tensor([-2.0, 1.0, -0.5])
    return logits


def test_an_event_on_the_border_stays_with_its_instance(monkeypatch):
    """The largest number that is drawn, which rounding takes to where the next instance begins."""
    monkeypatch.setattr(torch, "rand", lambda *size, **settings: torch.full(size, 1 - 2**-53, dtype=torch.double))
    torch.manual_seed(0)
    logits = torch.tensor([[-1.0] + [-20.0] * 99, [-4.0] * 100, [-6.0] * 100])
    drawn = label_set(100).sample(logits, 400)
    assert not drawn[..., :-1].any() and drawn[1:, :, -1].any(dim=1).all()


def test_relaxed_draws_are_of_the_concrete_distribution():
    """`temperature logit(y) - z` is logistic, by a Kolmogorov-Smirnov test at one in 10,000."""
    torch.manual_seed(0)
    logits, temperature = torch.tensor([[-2.0, 0.3, 1.0]], dtype=torch.double), 0.7
    draws = label_set(3).relaxed_sample(logits, 100_000, temperature=temperature)
    noise = temperature * draws.logit() - logits.unsqueeze(1)
    # So many tell it from the nearest normal distribution.
    assert kstest(noise.flatten(), "logistic").pvalue > 1e-4


def test_rare_labels_cost_by_their_ones(monkeypatch):
    """The choice between the two ways of drawing: no uniform number a variable where labels are rare."""
    drawn, rand = [], torch.rand

    def counted(*size, **settings):
        result = rand(*size, **settings)
        drawn.append(result.numel())
        return result

    monkeypatch.setattr(torch, "rand", counted)
    space = label_set(100)
    space.sample(rare_logits(), 50)
    space.sample(torch.zeros(2, 100), 50)
    assert 0 < drawn[0] < 1000 and drawn[1] == 2 * 50 * 100


@pytest.mark.parametrize("scale", [0.0, 1.0])
def test_sample_distinct_is_merged_samples(scale):
    torch.manual_seed(0)
    space, logits, samples = label_set(100), rare_logits() * scale - 4 * (1 - scale), 300
    outputs, log_count = space.sample_distinct(logits.double(), samples)
    assert outputs.dtype == torch.double
    for i in range(2):
        real = log_count[i] > -math.inf
        assert outputs[i, real].unique(dim=0).shape[0] == int(real.sum())
        assert log_count[i].exp().sum() == pytest.approx(samples)
        seen = (outputs[i] * log_count[i].exp().unsqueeze(1)).sum(dim=0) / samples
        expected = logits[i].sigmoid()
        assert ((seen - expected).abs() < 5 * (expected * (1 - expected) / samples).sqrt() + 0.01).all()


def test_project_and_to_logits():
    space = label_set(3)
    outputs = torch.tensor([[[-0.5, 0.25, 1.5]]])
    assert space.project(outputs).tolist() == [[[0, 0.25, 1]]]
    logits = space.to_logits(space.project(outputs))
    assert logits.isfinite().all()
    assert logits.sigmoid()[0, 0].tolist() == pytest.approx([0.001, 0.25, 0.999], rel=1e-3)


def test_a_mask_is_refused():
    space, mask = label_set(2), torch.ones(1, 2, dtype=torch.bool)
    logits, outputs = torch.zeros(1, 2), torch.zeros(1, 1, 2)
    for call in (
        lambda: space.relax(logits, mask),
        lambda: space.sample(logits, 1, mask),
        lambda: space.log_prob(logits, outputs, mask),
        lambda: space.cross_entropy(logits, logits, mask),
        lambda: space.inner(logits, outputs, mask),
        lambda: space.overlap(outputs, logits, mask),
        lambda: space.decode(logits, mask),
        lambda: space.distinct(outputs, mask),
        lambda: space.project(outputs, mask),
    ):
        with pytest.raises(TypeError, match="no mask"):
            call()


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_what_is_all_but_impossible_is_never_drawn(monkeypatch, dtype):
    """The random numbers are multiples of 2^-24 (2^-53), so that 0 comes up in every large batch."""
    monkeypatch.setattr(torch, "rand", torch.zeros)
    logits = torch.tensor([[-40.0, -10.0, 0.0, 10.0]], dtype=dtype)
    assert label_set(4).sample(logits, 2).tolist() == [[[0, 1, 1, 1]] * 2]
