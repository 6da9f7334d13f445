"""
The base class of samplers, their input, and samplers that return the output of a net, gold, or several samplers'
candidates.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import torch

from seal.common.setting_checks import require
from seal.output_spaces import CONSTANT, COST_AUGMENTED_NET, Candidates, OutputSpace
from seal.registry import ConfigurationError, Registrable


@dataclass
class SamplingProblem:
    """
    The input of a sampler: a batch with the task-net's output.

    # Parameters

    logits : `torch.Tensor`, `(batch, *structure)`
        The task-net's logits before its update, without gradient; zeros where there is no task-net.
    gold : `torch.Tensor`, `(batch, *output)`, optional
        `None` at prediction.
    mask : `torch.BoolTensor`, optional
        `(batch, tokens)`, True at real tokens; `None` where all instances have one size.
    output_space : `OutputSpace`
    energy : `Callable[[torch.Tensor], torch.Tensor]`, optional (default = `None`)
        `E(x, .)` under the present loss-net: candidates `(batch, samples, *output)` to `(batch, samples)`. The
        input is encoded at the first call only. `None` without a loss-net.
    cost_augmented : `torch.Tensor`, `(batch, *structure)`, optional (default = `None`)
        The cost-augmented network's logits, without gradient; `None` where the model has none, and at prediction.
    needs_log_prob : `bool`, optional (default = `True`)
        Whether the loss reads `log P_N`; otherwise a sampler may leave it out.
    """

    logits: torch.Tensor
    gold: Optional[torch.Tensor]
    mask: Optional[torch.Tensor]
    output_space: OutputSpace
    energy: Optional[Callable[[torch.Tensor], torch.Tensor]] = None
    cost_augmented: Optional[torch.Tensor] = None
    needs_log_prob: bool = True


class Sampler(torch.nn.Module, Registrable):
    """A source of the candidate outputs that the loss-net is trained on."""

    #: Whether its candidates have `log P_N`.
    gives_log_prob: bool = False
    #: Whether it finds one candidate for each instance without gold, and so can predict.
    predicts: bool = False
    #: Whether its candidates depend on the task-net, so that zeros cannot replace the logits.
    needs_task_net: bool = False
    #: Whether the model must have a cost-augmented network.
    needs_cost_augmented: bool = False

    def forward(self, problem: SamplingProblem) -> Candidates:
        """
        # Returns

        `Candidates`
            Constants, without gradient. With `gives_log_prob` they have the noise's log-probabilities.
        """
        raise NotImplementedError


@Sampler.register("stack")
class StackedSampler(Sampler):
    """
    The candidates of several samplers. They have no noise log-probability, because draws from a mixture of samplers are
    not draws from one of them.

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


@Sampler.register("gold")
class GoldSampler(Sampler):
    """Gold, one candidate for each instance. In a `stack` it gives regression losses a candidate with score 1."""

    def forward(self, problem: SamplingProblem) -> Candidates:
        return Candidates(require(problem.gold, "gold").unsqueeze(1), sources=(CONSTANT,))


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
        outputs = problem.output_space.relax(require(problem.cost_augmented, "cost_augmented_net"), problem.mask)
        return Candidates(outputs, sources=(COST_AUGMENTED_NET,))
