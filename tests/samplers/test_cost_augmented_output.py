import torch

from seal.samplers import CostAugmentedOutputSampler, SamplingProblem
from tests.spine import mask_of, tag_sequence


def test_its_output_is_a_candidate():
    space, mask = tag_sequence(2), mask_of([2, 1])
    logits, augmented = torch.zeros(2, 2, 2), torch.tensor([[[0.0, 1.0], [2.0, 0.0]], [[3.0, 0.0], [9.0, 9.0]]])
    problem = SamplingProblem(logits, None, mask, space, cost_augmented=augmented)
    found = CostAugmentedOutputSampler()(problem).outputs
    wanted = torch.tensor([[[0.26894142, 0.73105858], [0.88079708, 0.11920292]], [[0.95257413, 0.04742587], [0, 0]]])
    torch.testing.assert_close(found, wanted.unsqueeze(1))
