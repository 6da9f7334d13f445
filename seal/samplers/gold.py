from seal.common.setting_checks import needed
from seal.output_spaces import CONSTANT, Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("gold")
class GoldSampler(Sampler):
    """Gold, one candidate an instance: a member of a `stack`, for regression losses that need one of score 1."""

    def forward(self, problem: SamplingProblem) -> Candidates:
        return Candidates(needed(problem.gold, "gold").unsqueeze(1), sources=(CONSTANT,))
