import math

import pytest
import torch

from seal.losses import Comparison, MarginLoss, NceRankingLoss, RankingLoss
from seal.samplers import DiscreteSampler, SamplingProblem
from tests.label_sets import label_set
from tests.spine import mask_of, tag_sequence

LENGTHS = [3, 1]


def problem_of(seed=0):
    torch.manual_seed(seed)
    logits = torch.randn(2, 3, 2, dtype=torch.double, requires_grad=True)
    return SamplingProblem(logits, torch.tensor([[0, 1, 1], [1, 0, 0]]), mask_of(LENGTHS), tag_sequence(2))


def log_probability(logits, tags):
    return sum(math.log(math.exp(row[tag]) / sum(map(math.exp, row))) for row, tag in zip(logits.tolist(), tags))


@pytest.mark.parametrize("merge", [False, True])
def test_log_probabilities(merge):
    problem = problem_of()
    candidates = DiscreteSampler(12, merge)(problem)
    for b, n in enumerate(LENGTHS):
        for k, tags in enumerate(candidates.outputs[b].tolist()):
            expected = log_probability(problem.logits[b].detach(), tags[:n])
            assert candidates.noise_log_prob[b, k].item() == pytest.approx(expected)
            assert tags[n:] == [0] * (3 - n)
        expected = log_probability(problem.logits[b].detach(), problem.gold[b, :n].tolist())
        assert candidates.gold_noise_log_prob[b].item() == pytest.approx(expected)
    if not merge:
        assert candidates.outputs.shape == (2, 12, 3) and candidates.log_count is None
    else:
        assert candidates.log_count.exp().sum(dim=1).tolist() == pytest.approx([12, 12])
        assert candidates.outputs.shape[1] < 12
    for value in (candidates.noise_log_prob, candidates.gold_noise_log_prob, candidates.outputs):
        assert not value.requires_grad


@pytest.mark.parametrize("loss", [NceRankingLoss(), RankingLoss(), MarginLoss()])
def test_merging_changes_no_loss(loss):
    problem, space = problem_of(), tag_sequence(2)
    table = torch.randn(2, 3, 2, dtype=torch.double, requires_grad=True)
    results = []
    for merge in (False, True):
        torch.manual_seed(5)
        candidates = DiscreteSampler(12, merge)(problem)
        gold_energy = space.inner(table, problem.gold.unsqueeze(1), problem.mask).squeeze(1)
        energy = space.inner(table, candidates.outputs, problem.mask)
        values = loss(Comparison(gold_energy, energy, candidates, problem.gold, space, problem.mask))
        results.append((values.detach(), torch.autograd.grad(values.sum(), table)[0]))
    for drawn, merged in zip(*results):
        assert drawn.abs().max() > 0 and torch.allclose(drawn, merged, atol=1e-6)


def test_draws_of_gold_stay():
    problem = problem_of()
    problem.logits = 100 * torch.nn.functional.one_hot(problem.gold, 2).double()
    candidates = DiscreteSampler(5, merge=False)(problem)
    gold = problem.gold * problem.mask
    assert torch.equal(candidates.outputs, gold.unsqueeze(1).expand(2, 5, 3))
    merged = DiscreteSampler(5)(problem)
    assert merged.outputs.shape[1] == 1 and merged.log_count.exp().tolist() == [[pytest.approx(5)]] * 2


@pytest.mark.parametrize("merge", [False, True])
def test_log_probabilities_that_nobody_reads_are_left_out(merge):
    problem, found = problem_of(), []
    for needed in (True, False):
        problem.needs_log_prob = needed
        torch.manual_seed(3)
        found.append(DiscreteSampler(7, merge)(problem))
    read, unread = found
    assert read.noise_log_prob is not None and unread.noise_log_prob is unread.gold_noise_log_prob is None
    assert torch.equal(read.outputs, unread.outputs)
    assert merge == (unread.log_count is not None and torch.equal(read.log_count, unread.log_count))


def test_the_noise_of_a_ranking_loss_needs_what_it_gives():
    """What a model checks as it is built: only draws whose log-probability is known are noise."""
    assert DiscreteSampler.gives_log_prob and NceRankingLoss.needs_noise_log_prob
    assert not RankingLoss.needs_noise_log_prob


def test_no_instance():
    space = label_set(3)
    drawn = DiscreteSampler(4)(SamplingProblem(torch.zeros(0, 3), torch.zeros(0, 3), None, space, None))
    assert drawn.outputs.shape == (0, 4, 3)
