from seal.output_spaces import Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("task_net_output")
class TaskNetOutputSampler(Sampler):
    """
    The task-net's relaxed output, one candidate an instance (SA4).

    # Parameters

    discrete : `bool`, optional (default = `False`)
        The discrete output nearest to it (SA9): costs and scores of it are the hard ones. With implicit gradients its
        derivative is that of the relaxed output (`trainer.through` `"straight_through"`).
    """

    def __init__(self, discrete: bool = False) -> None:
        super().__init__()
        self.discrete = discrete

    def forward(self, problem: SamplingProblem) -> Candidates:
        outputs = problem.output_space.relax(problem.logits, problem.mask)
        if self.discrete:
            outputs = problem.output_space.straight_through(outputs).detach()
        return Candidates(outputs)
