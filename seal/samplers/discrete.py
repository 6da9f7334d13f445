"""The sampler `discrete`: independent draws from the task-net's distribution."""

import torch

from seal.common.setting_checks import check_range, require
from seal.output_spaces import Candidates
from seal.samplers.sampler import Sampler, SamplingProblem


@Sampler.register("discrete")
class DiscreteSampler(Sampler):
    """
    Independent discrete draws from the task-net's distribution `P(y | x; Phi)`, with their log-probability (SEAL,
    NeurIPS 2022, section 2.3). Draws that equal gold are kept. The log-probability is exact: it is computed from logits
    and not clamped where the task-net is almost certain. Noise-contrastive estimation has its optimum at `E = -log P`
    only with the exact one.

    # Parameters

    num_samples : `int`, optional (default = `20`)
    merge : `bool`, optional (default = `True`)
        Whether equal draws of an instance become one candidate with their count. The losses are the same; the energies
        of repeats are not computed again.
    """

    gives_log_prob = True

    def __init__(self, num_samples: int = 20, merge: bool = True) -> None:
        super().__init__()
        check_range("sampler.num_samples", num_samples, least=1)
        self.num_samples = num_samples
        self.merge = merge

    @torch.no_grad()
    def forward(self, problem: SamplingProblem) -> Candidates:
        space, logits, mask = problem.output_space, problem.logits, problem.mask
        if self.merge and len(logits) > 0:
            outputs, log_count = space.sample_distinct(logits, self.num_samples, mask)
        else:
            outputs, log_count = space.sample(logits, self.num_samples, mask), None
        if not problem.needs_log_prob:
            return Candidates(outputs, log_count=log_count)
        log_prob = space.log_prob(logits, space.stack(require(problem.gold, "gold").unsqueeze(1), outputs), mask)
        return Candidates(
            outputs=outputs,
            noise_log_prob=log_prob[:, 1:],
            gold_noise_log_prob=log_prob[:, 0],
            log_count=log_count,
        )
