from seal.output_spaces import Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("gold")
class GoldSampler(Sampler):
    """Gold itself, one candidate an instance: a member of a `stack`, for regression losses that want a sure 1."""

    def forward(self, problem: SamplingProblem) -> Candidates:
        return Candidates(problem.gold.unsqueeze(1))
