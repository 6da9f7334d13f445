import torch

from seal.samplers import CostAugmentedOutputSampler, GoldSampler, SamplingProblem, TaskNetOutputSampler
from seal.scores import HammingCost
from tests.label_sets import label_set
from tests.spine import mask_of, tag_sequence


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


def test_its_output_is_a_candidate():
    space, mask = tag_sequence(2), mask_of([2, 1])
    logits, augmented = torch.zeros(2, 2, 2), torch.tensor([[[0.0, 1.0], [2.0, 0.0]], [[3.0, 0.0], [9.0, 9.0]]])
    problem = SamplingProblem(logits, None, mask, space, cost_augmented=augmented)
    found = CostAugmentedOutputSampler()(problem).outputs
    wanted = torch.tensor([[[0.26894142, 0.73105858], [0.88079708, 0.11920292]], [[0.95257413, 0.04742587], [0, 0]]])
    torch.testing.assert_close(found, wanted.unsqueeze(1))
