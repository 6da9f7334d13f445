from dataclasses import dataclass
from typing import Optional, Union

import torch

from seal.output_spaces import Candidates, OutputSpace
from seal.scores import Cost, Score


@dataclass
class Comparison:
    """
    What an energy loss is given of a batch: gold and its candidates, with their energies.

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
