from dataclasses import dataclass

import torch

from seal.output_spaces.candidates import Candidates


@dataclass
class RewardedCandidates(Candidates):
    """
    Candidates for a batch in which some rows have no gold. Of each such row a reward `R(x, .)` says which output
    stands in the place of gold, `y+`, and how far behind it each candidate is.

    # Parameters

    target : `torch.Tensor`, `(batch, *output)`
        Gold, or `y+` of a row without.
    labelled : `torch.BoolTensor`, `(batch,)`
        Whether the row has gold.
    reward_gap : `torch.Tensor`, `(batch, samples)`
        `R(x, y+) - R(x, y_k)`, at least 0; of rows with gold 0.
    """

    # Never left out; without defaults they could not follow those that are.
    target: torch.Tensor = None
    labelled: torch.Tensor = None
    reward_gap: torch.Tensor = None
