from dataclasses import replace

import torch

from seal.output_spaces import Candidates
from seal.samplers import with_gradient
from tests.label_sets import all_sets, label_set
from tests.spine import mask_of, tag_sequence


def draws_of_sets():
    torch.manual_seed(0)
    logits = torch.randn(2, 3, dtype=torch.double, requires_grad=True)
    draws = all_sets(3)[torch.randint(8, (2, 4))]
    return logits, Candidates(draws, log_count=torch.zeros(2, 4))


def gradient(candidates, logits, weights):
    return torch.autograd.grad((candidates.outputs * weights).sum(), logits)[0]


def test_straight_through_is_the_draw_in_value_and_the_mean_in_gradient():
    logits, candidates = draws_of_sets()
    found = with_gradient(candidates, logits, label_set(3))
    assert torch.equal(found.outputs, candidates.outputs) and found.log_count is candidates.log_count
    weights = torch.randn(2, 4, 3, dtype=torch.double)
    p = logits.sigmoid()
    assert torch.allclose(gradient(found, logits, weights), weights.sum(dim=1) * p * (1 - p))


def test_of_the_relaxed_output_it_is_exact():
    logits, _ = draws_of_sets()
    space = label_set(3)
    found = with_gradient(Candidates(space.relax(logits.detach())), logits, space)
    weights = torch.randn(2, 1, 3, dtype=torch.double)

    def value(logits):
        return (space.relax(logits) * weights).sin().sum()

    expected = torch.autograd.grad(value(logits), logits)[0]
    assert torch.allclose(torch.autograd.grad((found.outputs * weights).sin().sum(), logits)[0], expected)


def test_each_candidate_has_the_gradient_of_its_source():
    torch.manual_seed(0)
    space, gold = label_set(3), all_sets(3)[[2, 5]]
    logits, other = torch.randn(2, 2, 3, dtype=torch.double, requires_grad=True).unbind(dim=0)
    outputs = torch.stack([logits.sigmoid(), gold, other.sigmoid()], dim=1)
    sources = ("task_net", "constant", "cost_augmented_net")
    candidates = Candidates(outputs.detach(), sources=sources)
    found = with_gradient(candidates, logits, space, cost_augmented=other)
    assert torch.equal(found.outputs, candidates.outputs)
    weights = torch.randn(2, 3, 3, dtype=torch.double)
    for like in (logits, other):
        expected = torch.autograd.grad((outputs * weights).sum(), like, retain_graph=True)[0]
        slope = torch.autograd.grad((found.outputs * weights).sum(), like, retain_graph=True)[0]
        assert torch.allclose(slope, expected)


def test_soft_and_none():
    logits, candidates = draws_of_sets()
    candidates = replace(candidates, log_count=None)
    space = label_set(3)
    found = with_gradient(candidates, logits, space, through="soft")
    assert torch.equal(found.outputs[:, 0], logits.sigmoid())
    assert torch.equal(found.outputs[:, 1:], candidates.outputs[:, 1:])
    weights = torch.randn(2, 4, 3, dtype=torch.double)
    p = logits.sigmoid()
    assert torch.allclose(gradient(found, logits, weights), weights[:, 0] * p * (1 - p))
    assert with_gradient(candidates, logits, space, through="none") is candidates


def test_soft_stands_for_one_draw_however_many_are_equal():
    """Of 8 draws, equal ones merged: p for one of them, and 7 in the proportions they have."""
    counts = torch.tensor([[6.0, 1, 1], [3, 5, 0]], dtype=torch.double)
    outputs = torch.randint(2, (2, 3, 4)).double()
    logits = torch.randn(2, 4, dtype=torch.double, requires_grad=True)
    found = with_gradient(Candidates(outputs, log_count=counts.log()), logits, label_set(4), through="soft")
    assert torch.equal(found.outputs, torch.cat([logits.sigmoid().unsqueeze(1), outputs], dim=1))
    wanted = torch.cat([torch.ones(2, 1), 7 / 8 * counts], dim=1)
    assert torch.allclose(found.log_count.exp(), wanted)
    alone = with_gradient(Candidates(outputs[:, :1], log_count=torch.zeros(2, 1)), logits, label_set(4), through="soft")
    assert alone.log_count.exp().tolist() == [[1, 0], [1, 0]]


def test_there_are_as_many_relaxed_draws_however_many_are_equal():
    """Also for a batch in which all draws of every instance are equal."""
    logits = torch.full((2, 4), 9.0, requires_grad=True)
    for counts in ([[20.0], [20.0]], [[19.0, 1.0], [20.0, 0.0]]):
        log_count = torch.tensor(counts).log()
        candidates = Candidates(torch.ones(2, log_count.shape[1], 4), log_count=log_count)
        assert with_gradient(candidates, logits, label_set(4), through="relaxed").outputs.shape == (2, 20, 4)
    # A batch of one instance; and draws that are not merged.
    merged = Candidates(torch.ones(1, 2, 4), log_count=torch.tensor([[19.0, 1.0]]).log())
    assert with_gradient(merged, logits[:1], label_set(4), through="relaxed").outputs.shape == (1, 20, 4)
    single = Candidates(torch.ones(2, 7, 4))
    assert with_gradient(single, logits, label_set(4), through="relaxed").outputs.shape == (2, 7, 4)


def test_tag_sequences_get_one_hot_draws():
    torch.manual_seed(0)
    space, mask = tag_sequence(3), mask_of([4, 2])
    logits = torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True)
    tags = torch.randint(3, (2, 5, 4))
    found = with_gradient(Candidates(tags), logits, space, mask)
    expected = torch.eye(3, dtype=torch.double)[tags]
    real = mask[:, None, :, None].expand_as(expected)
    assert torch.allclose(found.outputs[real], expected[real])
    weights = torch.randn(2, 5, 4, 3, dtype=torch.double)
    p = logits.softmax(dim=-1)
    inner = weights.sum(dim=1)
    # Of a softmax: p (w - p.w); nothing at padding.
    slope = p * (inner - (p * inner).sum(dim=-1, keepdim=True)) * mask.unsqueeze(2)
    assert torch.allclose(gradient(found, logits, weights), slope)
