from dataclasses import dataclass

import torch

from seal.output_spaces.candidates import Candidates


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
