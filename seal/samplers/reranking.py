"""The sampler `rerank`: the output of least energy among the task-net's best output and its draws."""

import torch

from seal.common.random_states import RandomStream
from seal.common.setting_checks import check_range
from seal.output_spaces import Candidates
from seal.registry import ConfigurationError
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("rerank")
class Reranking(Sampler):
    """
    For `model.inference`: the output that the loss-net ranks first among the task-net's best one, `y_0`, and
    independent draws `y_k` from its distribution (as Deng et al. 2020 and Bhattacharyya et al. 2021 rank the outputs of
    a sequence model by an energy):

        argmin_k  E(x, y_k) - log_prob_weight * log P(y_k | x; Phi)

    Draws that are no legal tag sequence do not compete.

    # Parameters

    num_samples : `int`, optional (default = `20`)
        The number of draws; at least 1. Trees are not drawn: the best of a beam of this width compete.
    log_prob_weight : `float`, optional (default = `0.0`)
        The weight of the task-net's own log-probability, at least 0. With 0 the energy decides, as is right for a
        loss-net that was trained by `nce_ranking`, whose optimum is `E = -log P(y | x)`. With 1 it is right for one
        trained by `ranking`, whose energy is only what the task-net's log-probability lacks.
    seed : `int`, optional (default = `13`)
        Of the draws: the predictions for a batch are the same each time.

    # Raises

    `ConfigurationError` for a number out of range, and where there is no loss-net.
    """

    predicts = True
    needs_task_net = True

    def __init__(self, num_samples: int = 20, log_prob_weight: float = 0.0, seed: int = 13) -> None:
        super().__init__()
        check_range("rerank: num_samples", num_samples, least=1)
        check_range("rerank: log_prob_weight", log_prob_weight, least=0)
        self.num_samples, self.log_prob_weight, self.seed = num_samples, log_prob_weight, seed

    def chosen(self, energy: torch.Tensor, log_prob: torch.Tensor) -> torch.Tensor:
        """
        The index of the candidate that is chosen, `(batch,)`, by the energies and log-probabilities of all, `(batch,
        candidates)`; those whose log-probability is `-inf`, or whose energy is not finite, do not compete.
        """
        value = energy.masked_fill(log_prob.isneginf(), torch.inf)
        if self.log_prob_weight > 0:
            value = value - self.log_prob_weight * log_prob.masked_fill(log_prob.isneginf(), 0.0)
        return value.masked_fill(~value.isfinite(), torch.inf).argmin(dim=1)

    @torch.no_grad()
    def forward(self, problem: SamplingProblem) -> Candidates:
        """One discrete candidate an instance; the form is that of the output space's draws."""
        space, logits, mask = problem.output_space, problem.logits, problem.mask
        if problem.energy is None:
            raise ConfigurationError("rerank: it ranks by the energy of a loss_net, and there is none.")
        with RandomStream(self.seed).active():
            draws, _ = space.sample_distinct(logits, self.num_samples, mask)
        best = space.decode(logits, mask).unsqueeze(1).to(draws.dtype)
        outputs = torch.cat([best, draws], dim=1)
        log_prob = space.log_prob(logits, outputs, mask)
        # Of sequences only those compete that decoding could give.
        first = self.chosen(problem.energy(outputs), log_prob.masked_fill(~space.is_legal(outputs, mask), -torch.inf))
        return Candidates(outputs[torch.arange(len(first), device=first.device), first].unsqueeze(1))
