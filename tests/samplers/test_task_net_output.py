import torch

from seal.samplers import SamplingProblem, TaskNetOutputSampler
from tests.spine import mask_of, tag_sequence


def test_the_relaxed_output():
    logits = torch.randn(2, 3, 3)
    problem = SamplingProblem(logits, torch.zeros(2, 3).long(), mask_of([3, 1]), tag_sequence(3))
    candidates = TaskNetOutputSampler()(problem)
    assert candidates.outputs.shape == (2, 1, 3, 3)
    assert torch.allclose(candidates.outputs[0, 0], logits[0].exp() / logits[0].exp().sum(-1, keepdim=True))
    assert candidates.outputs[1, 0, 1:].abs().sum() == 0
    assert candidates.noise_log_prob is None and candidates.log_count is None
