from seal.output_spaces import Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("task_net_output")
class TaskNetOutputSampler(Sampler):
    """The task-net's relaxed output, one candidate an instance (SA4)."""

    def forward(self, problem: SamplingProblem) -> Candidates:
        return Candidates(problem.output_space.relax(problem.logits, problem.mask))
