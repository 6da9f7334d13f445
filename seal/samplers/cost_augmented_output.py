from seal.common.setting_checks import needed
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
        outputs = problem.output_space.relax(needed(problem.cost_augmented, "cost_augmented_net"), problem.mask)
        return Candidates(outputs, sources=(COST_AUGMENTED_NET,))
