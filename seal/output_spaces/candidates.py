from dataclasses import dataclass
from typing import Optional

import torch

#: What a candidate may be a function of, for an implicit gradient: the output of one of the two networks, or neither's.
TASK_NET, COST_AUGMENTED_NET, CONSTANT = "task_net", "cost_augmented_net", "constant"


@dataclass
class Candidates:
    """
    The outputs that a loss-net is trained to tell from gold. A sampler gives them as constants; `with_gradient` makes
    them functions of the task-net again.

    # Parameters

    outputs : `torch.Tensor`, `(batch, samples, *output)`
    noise_log_prob : `torch.Tensor`, `(batch, samples)`, optional
        `log P_N` of each candidate in nats, where the sampler draws from a distribution it can evaluate.
    gold_noise_log_prob : `torch.Tensor`, `(batch,)`, optional
        `log P_N` of gold.
    log_count : `torch.Tensor`, `(batch, samples)`, optional
        The logarithm of the number of draws that a candidate stands for; `-inf` for a filler, which stands for none.
        `None`: each candidate is one draw.
    sources : `tuple[str, ...]`, optional
        For each sample what it is a function of: `TASK_NET`, `COST_AUGMENTED_NET` or `CONSTANT`. `None`: all are of
        the task-net.
    """

    outputs: torch.Tensor
    noise_log_prob: Optional[torch.Tensor] = None
    gold_noise_log_prob: Optional[torch.Tensor] = None
    log_count: Optional[torch.Tensor] = None
    sources: Optional[tuple[str, ...]] = None

    def source_of_each(self) -> tuple[str, ...]:
        """`sources`, or as often `TASK_NET` where it is `None`."""
        return self.sources or (TASK_NET,) * self.outputs.shape[1]

    def log_counts(self) -> torch.Tensor:
        """`log_count`, or as many zeros where it is `None`: `(batch, samples)`."""
        if self.log_count is not None:
            return self.log_count
        return torch.zeros(self.outputs.shape[:2], device=self.outputs.device)
