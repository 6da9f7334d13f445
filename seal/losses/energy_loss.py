from dataclasses import dataclass
from typing import Optional, Union

import torch
from torch.nn import functional as F

from seal.common.setting_checks import check_choice
from seal.output_spaces import Candidates, OutputSpace
from seal.registry import Registrable
from seal.scores import Cost, Score, SoftF1


@dataclass
class Comparison:
    """
    The inputs of an energy loss for a batch: gold and its candidates, with their energies.

    # Parameters

    gold_energy : `torch.Tensor`, `(batch,)`
        The energy of gold.
    energy : `torch.Tensor`, `(batch, samples)`
        The energy of each candidate.
    candidates : `Candidates`
        The candidates, with their noise log-probabilities and counts.
    gold : `torch.Tensor`, `(batch, *output)`
    output_space : `OutputSpace`
    mask : `torch.BoolTensor`, optional
        `(batch, tokens)`, True at real tokens; `None` where all instances have one size.
    """

    gold_energy: torch.Tensor
    energy: torch.Tensor
    candidates: Candidates
    gold: torch.Tensor
    output_space: OutputSpace
    mask: Optional[torch.Tensor] = None

    def measured(self, measure: Union[Cost, Score]) -> torch.Tensor:
        """The cost or the score of each candidate against gold: `(batch, samples)`."""
        return measure(self.output_space, self.candidates.outputs, self.gold, self.mask)


class EnergyLoss(torch.nn.Module, Registrable):
    """
    The loss `L_E`, which trains the loss-net: it compares the energies of an instance's candidates with the energy of
    gold. In alternating training the candidates are constants, and gradients flow through the energies alone. In
    implicit training the candidates are functions of the task-net, and so are their costs; the score of `regression`,
    its target, is a constant by default.
    """

    #: True where the loss needs `log P_N` of every candidate.
    needs_noise_log_prob: bool = False
    #: True where candidates must be `RewardedCandidates`.
    needs_rewards: bool = False
    #: `Delta`, where the loss has one.
    cost: Optional[Cost] = None

    def forward(self, comparison: Comparison) -> torch.Tensor:
        """
        # Returns

        `torch.Tensor`, `(batch,)`: the loss of each instance, before the mean over the batch.
        """
        raise NotImplementedError


@EnergyLoss.register("gold_energy")
class GoldEnergyLoss(EnergyLoss):
    """
    The energy of gold, `E(x, y)`, alone. Where the energy is a negative log-probability, as that of a tag language
    model (`type: 'tag_language_model'`, the loss-net's only term), this is maximum likelihood, which is how Tu &
    Gimpel (2018) train such a model before it is frozen. With an energy that is not normalised the loss is unbounded
    below.

    The candidates are not used: take the sampler `gold`.
    """

    def forward(self, comparison: Comparison) -> torch.Tensor:
        return comparison.gold_energy


def regression_loss(energy: torch.Tensor, score: torch.Tensor) -> torch.Tensor:
    """
    The cross-entropy of the score `s` in [0, 1] and `sigma(-E)`, `-s log sigma(-E) - (1 - s) log(1 - sigma(-E))`,
    of each element, in nats (SEAL, NeurIPS 2022, Eq. 7, with the sign in its second logarithm corrected). It is
    differentiable in both; `d/dE = s - sigma(-E)`.
    """
    return -score * F.logsigmoid(-energy) - (1 - score) * F.logsigmoid(energy)


@EnergyLoss.register("regression")
class RegressionLoss(EnergyLoss):
    """
    The loss of deep value networks: `sigma(-E(x, y'))` is fitted to the score of `y'` against gold by
    cross-entropy (Gygli et al. 2017; SEAL, NeurIPS 2022, Eq. 7). "Regression" has one candidate, the task-net's
    output; "regression-s" is the sum over several. The optimum is `E = -logit(s)`, so energies take both signs.

    Gold enters the loss only as a candidate: for that, stack the sampler `gold` with another.

    The score is the target of a regression, so it is a constant in an implicit gradient, too. If it were a function of
    the task-net, its slope would be `dL/ds = E`, and an energy that rightly rejects an output would make the task-net
    worse: the loss at the best energy is the entropy of `s`, which is 0 at `s = 0`.

    # Parameters

    score : `Score`, optional (default = `SoftF1()`)
    reduction : `str`, optional (default = `"sum"`)
        The reduction over the candidates of an instance: `"sum"` as in the paper, or `"mean"`. A candidate drawn `n`
        times counts `n` times in both.
    constant_score : `bool`, optional (default = `True`)
        If not, an implicit gradient differentiates the score, as the formula of Shankar & Piratla has it.

    # Raises

    `ConfigurationError` for another reduction.
    """

    def __init__(self, score: Optional[Score] = None, reduction: str = "sum", constant_score: bool = True) -> None:
        super().__init__()
        check_choice("energy_loss.reduction", reduction, ("sum", "mean"))
        self.score = score or SoftF1()
        self._reduction = reduction
        self._constant_score = constant_score

    def forward(self, comparison: Comparison) -> torch.Tensor:
        score = comparison.measured(self.score)
        score = score.detach() if self._constant_score else score
        losses = regression_loss(comparison.energy, score)
        counts = comparison.candidates.log_counts().exp()
        total = (losses * counts).sum(dim=1)
        return total if self._reduction == "sum" else total / counts.sum(dim=1)
