from dataclasses import dataclass
from functools import lru_cache
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


_TRIES = 100


def merge_equal(keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """
    Merges the equal draws of each instance.

    # Parameters

    keys : `torch.LongTensor`, `(batch, samples, size)`
        Equal for equal draws, and different for different ones.

    # Returns

    `(chosen, log_count)`, each `(batch, width)` with as many columns as the instance with the most distinct draws
    needs: the index, in `[0, batch * samples)`, of one of the equal draws, and the logarithm of how many there are.
    The other instances are filled up with their first draw and a log-count of `-inf`.
    """
    batch, samples, size = keys.shape
    # Copies the high bits into the low ones: a product turns a difference in the highest bit alone into one in the
    # highest bit alone, and two such differences would always cancel.
    mixed = keys ^ ((keys >> 32) & 0xFFFFFFFF)
    for seed in range(_TRIES):
        # A draw's code is one number, so that sorting them is cheap; `torch.unique` over rows compares whole rows and
        # takes ten times as long.
        code = (mixed * _multipliers(size, seed, keys.device)).sum(dim=-1)
        code, order = code.sort(dim=1)
        first = torch.ones_like(code, dtype=torch.bool)
        first[:, 1:] = code[:, 1:] != code[:, :-1]
        # shape: (batch, samples), the column of each draw in the order of codes
        column = first.cumsum(dim=1) - 1
        draws = order + samples * torch.arange(batch, device=keys.device).unsqueeze(1)
        # The last column takes what is not the first of its code.
        chosen = draws[:, :1].repeat(1, samples + 1)
        chosen.scatter_(1, torch.where(first, column, samples), draws)
        flat = keys.flatten(0, 1)
        same = (flat[draws] == flat[chosen.gather(1, column)]).all()
        # Read together, since each reading waits for a GPU.
        width, same = torch.stack([column[:, -1].max() + 1, same]).tolist()
        if same:
            chosen = chosen[:, :width]
            counts = torch.zeros(batch, width, device=keys.device)
            counts.scatter_add_(1, column, torch.ones_like(column, dtype=counts.dtype))
            return chosen, counts.log()
        # Otherwise two different draws have the same code, with a probability of about 2^-64 for each pair.
    raise RuntimeError(f"merge_equal found no {_TRIES} random codes that tell the draws apart.")


@lru_cache(maxsize=64)
def _multipliers(size: int, seed: int, device: torch.device) -> torch.Tensor:
    """Random odd numbers; products and sums wrap around."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randint(-(2**62), 2**62, (size,), generator=generator) * 2 + 1).to(device)


@dataclass(kw_only=True)
class RewardedCandidates(Candidates):
    """
    Candidates for a batch in which some rows have no gold. In each such row a reward `R(x, .)` determines the output
    `y+` that takes the place of gold, and how much lower the reward of each candidate is.

    # Parameters

    target : `torch.Tensor`, `(batch, *output)`
        Gold, or `y+` in a row without gold.
    labelled : `torch.BoolTensor`, `(batch,)`
        Whether the row has gold.
    reward_gap : `torch.Tensor`, `(batch, samples)`
        `R(x, y+) - R(x, y_k)`, at least 0; 0 in rows with gold.
    """

    target: torch.Tensor
    labelled: torch.Tensor
    reward_gap: torch.Tensor
