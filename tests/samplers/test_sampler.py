import pytest
import torch

from seal.losses import Comparison, RankingLoss
from seal.output_spaces import CONSTANT, COST_AUGMENTED_NET, TASK_NET, Candidates
from seal.samplers import (
    CostAugmentedOutputSampler,
    DiscreteSampler,
    GaussianPerturbation,
    GoldSampler,
    SamplingProblem,
    StackedSampler,
    TaskNetOutputSampler,
)
from seal.scores import HammingCost
from tests.label_sets import label_set
from tests.spine import mask_of, one_hot, tag_sequence


def problem_of():
    torch.manual_seed(0)
    logits, augmented = torch.randn(2, 2, 3, 2, dtype=torch.double)
    gold = torch.tensor([[0, 1, 1], [1, 0, 0]])
    return SamplingProblem(logits, gold, mask_of([3, 1]), tag_sequence(2), cost_augmented=augmented)


def seeded(sampler, problem):
    torch.manual_seed(1)
    return sampler(problem)


def test_mixed_forms_and_counts():
    problem, parts = problem_of(), [GoldSampler(), DiscreteSampler(12), TaskNetOutputSampler()]
    torch.manual_seed(1)
    expected = [part(problem) for part in parts]
    stacked = seeded(StackedSampler(parts), problem)
    width = expected[1].outputs.shape[1]
    assert stacked.outputs.shape == (2, width + 2, 3, 2)
    assert torch.equal(stacked.outputs[:, 0].double(), one_hot(problem.gold, 2))
    assert torch.equal(stacked.outputs[:, 1:-1].double(), one_hot(expected[1].outputs, 2))
    assert torch.equal(stacked.outputs[:, -1:], expected[2].outputs)
    assert torch.equal(stacked.log_count[:, 1:-1], expected[1].log_count)
    assert stacked.log_count[:, 0].tolist() == stacked.log_count[:, -1].tolist() == [0, 0]
    assert stacked.log_count.exp().sum(dim=1).tolist() == pytest.approx([14, 14])
    assert stacked.noise_log_prob is None and not StackedSampler.gives_log_prob
    assert stacked.sources == (CONSTANT, *[TASK_NET] * (width + 1))


def test_discrete_parts_stay_discrete():
    problem = problem_of()
    draws = seeded(DiscreteSampler(3, merge=False), problem).outputs
    stacked = seeded(StackedSampler([GoldSampler(), DiscreteSampler(3, merge=False)]), problem)
    assert stacked.outputs.dtype == torch.long
    assert torch.equal(stacked.outputs, torch.cat([problem.gold.unsqueeze(1), draws], dim=1))
    assert stacked.log_count is None


def test_the_loss_of_a_stack_is_that_of_all_draws():
    problem, space = problem_of(), tag_sequence(2)
    table = torch.randn(2, 3, 2, dtype=torch.double)
    values = []
    for merge in (False, True):
        candidates = seeded(StackedSampler([DiscreteSampler(9, merge), TaskNetOutputSampler()]), problem)
        energy = space.inner(table, candidates.outputs, problem.mask)
        gold_energy = space.inner(table, problem.gold.unsqueeze(1), problem.mask).squeeze(1)
        values.append(RankingLoss()(Comparison(gold_energy, energy, candidates, problem.gold, space, problem.mask)))
    assert torch.allclose(*values, atol=1e-6)


def test_a_stack_of_stacks():
    problem = problem_of()
    noisy, gold = seeded(GaussianPerturbation(2), problem).outputs, one_hot(problem.gold, 2).unsqueeze(1)
    inner = StackedSampler([GaussianPerturbation(2), GoldSampler()])
    outer = seeded(StackedSampler([inner, CostAugmentedOutputSampler(), GoldSampler()]), problem)
    augmented = problem.output_space.relax(problem.cost_augmented, problem.mask)
    assert isinstance(outer, Candidates) and outer.log_count is None
    real = problem.mask[:, None, :, None]
    assert torch.equal(outer.outputs * real, torch.cat([noisy, gold, augmented, gold], dim=1) * real)
    # An implicit gradient flows to the network that a candidate comes from, and into none through gold.
    assert outer.sources == (TASK_NET, TASK_NET, CONSTANT, COST_AUGMENTED_NET, CONSTANT)


def test_a_stack_needs_what_its_parts_need():
    parts = [GoldSampler(), TaskNetOutputSampler(), CostAugmentedOutputSampler()]
    for chosen, task_net, cost_augmented in [([0], False, False), ([0, 1], True, False), ([2, 0], False, True)]:
        stack = StackedSampler([parts[index] for index in chosen])
        assert (stack.needs_task_net, stack.needs_cost_augmented) == (task_net, cost_augmented)


# Samplers of one output.


def test_gold_alone():
    gold = torch.tensor([[0, 2, 1], [1, 0, 0]])
    candidates = GoldSampler()(SamplingProblem(torch.randn(2, 3, 3), gold, mask_of([3, 1]), tag_sequence(3)))
    assert torch.equal(candidates.outputs, gold.view(2, 1, 3))
    assert candidates.noise_log_prob is None and candidates.log_count is None


def test_the_relaxed_output():
    logits = torch.randn(2, 3, 3)
    problem = SamplingProblem(logits, torch.zeros(2, 3).long(), mask_of([3, 1]), tag_sequence(3))
    candidates = TaskNetOutputSampler()(problem)
    assert candidates.outputs.shape == (2, 1, 3, 3)
    assert torch.allclose(candidates.outputs[0, 0], logits[0].exp() / logits[0].exp().sum(-1, keepdim=True))
    assert candidates.outputs[1, 0, 1:].abs().sum() == 0
    assert candidates.noise_log_prob is None and candidates.log_count is None


def test_the_discrete_output():
    logits = torch.tensor([[[0.1, 0.0, 2.0], [3.0, 1.0, 2.0]], [[0.0, 0.5, 0.2], [9.0, 0.0, 0.0]]], requires_grad=True)
    gold = torch.zeros(2, 2).long()
    problem = SamplingProblem(logits, gold, mask_of([2, 1]), tag_sequence(3))
    outputs = TaskNetOutputSampler(discrete=True)(problem).outputs
    assert outputs.tolist() == [[[[0, 0, 1], [1, 0, 0]]], [[[0, 1, 0], [0, 0, 0]]]] and not outputs.requires_grad
    # Costs of it are the hard ones.
    assert HammingCost()(problem.output_space, outputs, gold, problem.mask).tolist() == [[1], [1]]
    labels = SamplingProblem(torch.tensor([[0.3, -0.3]]), torch.zeros(1, 2), None, label_set(2))
    assert TaskNetOutputSampler(discrete=True)(labels).outputs.tolist() == [[[1, 0]]]


def test_the_output_of_a_cost_augmented_net_is_a_candidate():
    space, mask = tag_sequence(2), mask_of([2, 1])
    logits, augmented = torch.zeros(2, 2, 2), torch.tensor([[[0.0, 1.0], [2.0, 0.0]], [[3.0, 0.0], [9.0, 9.0]]])
    problem = SamplingProblem(logits, None, mask, space, cost_augmented=augmented)
    found = CostAugmentedOutputSampler()(problem).outputs
    wanted = torch.tensor([[[0.26894142, 0.73105858], [0.88079708, 0.11920292]], [[0.95257413, 0.04742587], [0, 0]]])
    torch.testing.assert_close(found, wanted.unsqueeze(1))
