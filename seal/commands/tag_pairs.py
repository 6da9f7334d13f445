"""
What an energy makes of neighbouring tags, and what data say of them.
"""

from typing import Any, List

import torch

from seal.common.module_modes import constant
from seal.hypergradients.guards import twice_differentiable
from seal.nets import LossNet

# So many copies of sentences at a time: what an LSTM of tags keeps of them for two derivatives is a few hundred MiB.
_COPIES = 512


def cross_hessian(
    loss_net: LossNet, features: List[Any], outputs: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """
    `sum_t d^2 E(x, y) / dy_t dy_{t+1}`, summed over the batch (implicit-training paper, appendix C, Figure 2; AN3):
    `(tags, tags)`, a row a tag at `t`, a column one at `t + 1`. Of the linear chain it is `-W` for each pair of
    neighbours.

    # Parameters

    features : `List[Any]`
        What `loss_net.encode` returned.
    outputs : `torch.Tensor`, `(batch, tokens, tags)`
        Relaxed; where the derivative is taken.
    mask : `torch.BoolTensor`, `(batch, tokens)`
    """
    batch, tokens, tags = outputs.shape
    total = outputs.new_zeros(tags, tags)
    step = max(1, _COPIES // max(batch, 1))
    for start in range(0, tokens - 1, step):
        places = torch.arange(start, min(start + step, tokens - 1), device=outputs.device)
        copy = torch.arange(len(places), device=outputs.device)
        # Any two positions may interact, and only neighbours are wanted: each place t has a copy of the sentence for
        # itself, so that one pass differentiates at all of them.
        # shape: (batch, places, tokens, tags)
        copies = outputs.detach().unsqueeze(1).repeat(1, len(places), 1, 1).requires_grad_()
        with torch.enable_grad(), constant(loss_net), twice_differentiable():
            energy = loss_net(features, copies, mask).sum()
            (gradient,) = torch.autograd.grad(energy, copies, create_graph=True)
            if not gradient.requires_grad:
                # A local energy alone is linear.
                continue
            # shape: (batch, places, tags)
            before = gradient[:, copy, places] * mask[:, places + 1].unsqueeze(-1)
            for tag in range(tags):
                (row,) = torch.autograd.grad(before[..., tag].sum(), copies, retain_graph=True)
                total[tag] += row[:, copy, places + 1].sum(dim=(0, 1))
    return total


def bigrams(gold: torch.Tensor, mask: torch.Tensor, tags: int) -> torch.Tensor:
    """
    How often a tag (row) comes right before another (column): `(tags, tags)`.

    # Parameters

    gold : `torch.LongTensor`, `(batch, tokens)`
    mask : `torch.BoolTensor`, `(batch, tokens)`
    """
    pairs = (gold[:, :-1] * tags + gold[:, 1:])[mask[:, 1:]]
    return torch.bincount(pairs, minlength=tags * tags).view(tags, tags)


def pointwise_mutual_information(counts: torch.Tensor) -> torch.Tensor:
    """`log P(a, b) / (P(a) P(b))` of bigrams, in nats; NaN where they never occur."""
    share = counts.double() / counts.sum()
    independent = share.sum(dim=1, keepdim=True) * share.sum(dim=0, keepdim=True)
    return torch.where(counts > 0, (share / independent).log(), torch.nan)


def centred(matrix: torch.Tensor) -> torch.Tensor:
    """
    `matrix` without the means of its rows and columns. In an energy of pairs those are of no account: as the outputs
    of a position sum to 1, `W[a, b] + u[a] + v[b]` says of pairs what `W` says, and of single tags what the local
    energy can.
    """
    return matrix - matrix.mean(dim=0, keepdim=True) - matrix.mean(dim=1, keepdim=True) + matrix.mean()
