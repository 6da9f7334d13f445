import torch

from seal.output_spaces import Candidates
from seal.registry import ConfigurationError
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("stack")
class StackedSampler(Sampler):
    """
    The candidates of several samplers together.

    They have no noise log-probability: draws from a mixture of samplers are not draws from any one of them.

    # Parameters

    samplers : `list[Sampler]`
    """

    def __init__(self, samplers: list[Sampler]) -> None:
        super().__init__()
        if not samplers:
            raise ConfigurationError("sampler.samplers: a stack needs at least one sampler.")
        self.samplers = torch.nn.ModuleList(samplers)
        self.needs_task_net = any(sampler.needs_task_net for sampler in samplers)
        self.needs_cost_augmented = any(sampler.needs_cost_augmented for sampler in samplers)

    def forward(self, problem: SamplingProblem) -> Candidates:
        parts = [sampler(problem) for sampler in self.samplers]
        log_count = None
        if any(part.log_count is not None for part in parts):
            log_count = torch.cat([part.log_counts() for part in parts], dim=1)
        outputs = problem.output_space.stack(*(part.outputs for part in parts))
        sources = tuple(source for part in parts for source in part.source_of_each())
        return Candidates(outputs, log_count=log_count, sources=sources)
