from seal.output_spaces import COST_AUGMENTED_NET, Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("cost_augmented_output")
class CostAugmentedOutputSampler(Sampler):
    """
    The cost-augmented network's relaxed output, one candidate an instance: stacked before `task_net_output` it makes
    the two candidates of the compound loss (Tu, Pang & Gimpel 2020, Eq. 6).
    """

    needs_cost_augmented = True

    def forward(self, problem: SamplingProblem) -> Candidates:
        outputs = problem.output_space.relax(problem.cost_augmented, problem.mask)
        return Candidates(outputs, sources=(COST_AUGMENTED_NET,))
