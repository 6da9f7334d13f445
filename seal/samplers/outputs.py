"""Candidates that are there without a search: gold, and the outputs of networks."""

from seal.common.setting_checks import needed
from seal.output_spaces import CONSTANT, COST_AUGMENTED_NET, Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("gold")
class GoldSampler(Sampler):
    """Gold, one candidate an instance: a member of a `stack`, for regression losses that need one of score 1."""

    def forward(self, problem: SamplingProblem) -> Candidates:
        return Candidates(needed(problem.gold, "gold").unsqueeze(1), sources=(CONSTANT,))


@Sampler.register("task_net_output")
class TaskNetOutputSampler(Sampler):
    """
    The task-net's relaxed output, one candidate an instance.

    # Parameters

    discrete : `bool`, optional (default = `False`)
        Whether to give the discrete output nearest to the relaxed one, whose costs and scores are those of discrete
        outputs. With implicit gradients its derivative is that of the relaxed output (`with_gradient`,
        `"straight_through"`).
    """

    needs_task_net = True

    def __init__(self, discrete: bool = False) -> None:
        super().__init__()
        self.discrete = discrete

    def forward(self, problem: SamplingProblem) -> Candidates:
        outputs = problem.output_space.relax(problem.logits, problem.mask)
        if self.discrete:
            outputs = problem.output_space.straight_through(outputs).detach()
        return Candidates(outputs)


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
