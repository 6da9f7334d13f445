from seal.output_spaces import Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("task_net_output")
class TaskNetOutputSampler(Sampler):
    """
    The task-net's relaxed output, one candidate an instance.

    # Parameters

    discrete : `bool`, optional (default = `False`)
        Whether to give the discrete output nearest to the relaxed one, whose costs and scores are those of discrete
        outputs. With implicit gradients its derivative is that of the relaxed output (`trainer.through`
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
