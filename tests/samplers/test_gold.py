import torch

from seal.samplers import GoldSampler, SamplingProblem
from tests.spine import mask_of, tag_sequence


def test_gold_alone():
    gold = torch.tensor([[0, 2, 1], [1, 0, 0]])
    candidates = GoldSampler()(SamplingProblem(torch.randn(2, 3, 3), gold, mask_of([3, 1]), tag_sequence(3)))
    assert torch.equal(candidates.outputs, gold.view(2, 1, 3))
    assert candidates.noise_log_prob is None and candidates.log_count is None
