from typing import Optional

import torch

from seal.common.precision import without_autocast
from seal.energies.energy import Energy, check_output_space
from seal.output_spaces import OutputSpace, TagSequence


@Energy.register("linear_chain")
class LinearChainEnergy(Energy):
    """
    The pair term of the sequence energy, `-sum_t y_{t-1}^T W y_t` (Tu, Pang & Gimpel 2020, Eq. 7): a large
    `W[a, b]` makes tag `b` after tag `a` likely. The sum runs over `t = 2 .. T`.

    # Parameters

    input_dim, output_space : given by the loss-net.
    with_start : `bool`, optional (default = `False`)
        Whether there is also a learned score of each tag at the start of the sequence.

    # Raises

    `ConfigurationError` if the outputs are not tag sequences.
    """

    def __init__(self, input_dim: int, output_space: OutputSpace, with_start: bool = False) -> None:
        super().__init__()
        check_output_space("linear_chain", output_space, TagSequence, "tag sequences")
        self.output_space = output_space
        labels = output_space.num_labels
        self.transitions = torch.nn.Parameter(torch.empty(labels, labels))
        torch.nn.init.xavier_normal_(self.transitions)
        self.starts = torch.nn.Parameter(torch.zeros(labels)) if with_start else None

    @without_autocast
    def forward(self, condition: None, outputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        before, after = outputs[:, :, :-1], outputs[:, :, 1:]
        if outputs.is_floating_point():
            pairs = ((before @ self.transitions) * after).sum(dim=-1)
        else:
            # index_select's backward adds rows up; indexing by two tensors would sort every pair first.
            pair = before * self.output_space.num_labels + after
            pairs = self.transitions.flatten().index_select(0, pair.flatten()).view_as(pair)
        if mask is not None:
            # Padding comes last: the pair (t-1, t) is real where t is.
            pairs = pairs * mask[:, 1:].unsqueeze(1)
        score = pairs.sum(dim=-1)
        if self.starts is not None:
            first = outputs[:, :, 0]
            score = score + (first @ self.starts if outputs.is_floating_point() else self.starts[first])
        return -score
