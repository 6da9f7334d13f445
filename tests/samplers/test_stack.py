import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.losses import RankingLoss
from seal.output_spaces import Candidates
from seal.samplers import DiscreteSampler, GaussianPerturbation, GoldSampler, SamplingProblem, StackedSampler
from seal.samplers import TaskNetOutputSampler
from tests.spine import mask_of, one_hot, tag_sequence


def problem_of():
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 2, dtype=torch.double)
    return SamplingProblem(logits, torch.tensor([[0, 1, 1], [1, 0, 0]]), mask_of([3, 1]), tag_sequence(2))


def test_mixed_forms_and_counts():
    problem, parts = problem_of(), [GoldSampler(), DiscreteSampler(12), TaskNetOutputSampler()]
    torch.manual_seed(1)
    expected = [part(problem) for part in parts]
    torch.manual_seed(1)
    stacked = StackedSampler(parts)(problem)
    width = expected[1].outputs.shape[1]
    assert stacked.outputs.shape == (2, width + 2, 3, 2)
    assert torch.equal(stacked.outputs[:, 0].double(), one_hot(problem.gold, 2))
    assert torch.equal(stacked.outputs[:, 1:-1].double(), one_hot(expected[1].outputs, 2))
    assert torch.equal(stacked.outputs[:, -1:], expected[2].outputs)
    assert torch.equal(stacked.log_count[:, 1:-1], expected[1].log_count)
    assert stacked.log_count[:, 0].tolist() == stacked.log_count[:, -1].tolist() == [0, 0]
    assert stacked.log_count.exp().sum(dim=1).tolist() == pytest.approx([14, 14])
    assert stacked.noise_log_prob is None and not StackedSampler.gives_log_prob


def test_discrete_parts_stay_discrete():
    problem = problem_of()
    stacked = StackedSampler([GoldSampler(), DiscreteSampler(3, merge=False)])(problem)
    assert stacked.outputs.shape == (2, 4, 3) and stacked.outputs.dtype == torch.long
    assert stacked.log_count is None


def test_the_loss_of_a_stack_is_that_of_all_draws():
    problem, space = problem_of(), tag_sequence(2)
    table = torch.randn(2, 3, 2, dtype=torch.double)
    values = []
    for merge in (False, True):
        torch.manual_seed(1)
        candidates = StackedSampler([DiscreteSampler(9, merge), TaskNetOutputSampler()])(problem)
        energy = space.inner(table, candidates.outputs, problem.mask)
        gold_energy = space.inner(table, problem.gold.unsqueeze(1), problem.mask).squeeze(1)
        values.append(RankingLoss()(gold_energy, energy, candidates, problem.gold, space, problem.mask))
    assert torch.allclose(*values, atol=1e-6)


def test_a_stack_of_stacks():
    inner = StackedSampler([GaussianPerturbation(2), GoldSampler()])
    outer = StackedSampler([inner, GoldSampler()])(problem_of())
    assert isinstance(outer, Candidates) and outer.outputs.shape == (2, 4, 3, 2)


def test_an_empty_stack():
    with pytest.raises(ConfigurationError, match="sampler.samplers"):
        StackedSampler([])
