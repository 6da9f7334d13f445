"""Pairs of neighbouring tags: the cross-derivatives of an energy, and how often they occur in data."""

from typing import Any

import torch

from seal.hypergradients.guards import twice_differentiable
from seal.nets import LossNet
from seal.two_player.objectives import constant

# Copies of sentences that are differentiated at a time; for two derivatives an LSTM of tags keeps a few hundred MiB.
_COPIES = 512


def cross_hessian(loss_net: LossNet, features: list[Any], outputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """
    The cross-Hessian of neighbouring outputs, `sum_t d^2 E(x, y) / dy_t dy_{t+1}`, summed over the batch
    (implicit-training paper, appendix C, Figure 2): `(tags, tags)`, with a row for each tag at `t` and a column for
    each tag at `t + 1`. In the linear chain each pair of neighbours contributes `-W`.

    # Parameters

    features : `list[Any]`
        The result of `loss_net.encode`.
    outputs : `torch.Tensor`, `(batch, tokens, tags)`
        The relaxed outputs at which the derivative is taken.
    mask : `torch.BoolTensor`, `(batch, tokens)`
        True at real tokens.
    """
    batch, tokens, tags = outputs.shape
    total = outputs.new_zeros(tags, tags)
    step = max(1, _COPIES // max(batch, 1))
    for start in range(0, tokens - 1, step):
        places = torch.arange(start, min(start + step, tokens - 1), device=outputs.device)
        copy = torch.arange(len(places), device=outputs.device)
        # Any two positions may interact, but only neighbours are wanted. Each place t therefore has its own copy of the
        # sentence, so that one pass differentiates at all places.
        # shape: (batch, places, tokens, tags)
        copies = outputs.detach().unsqueeze(1).repeat(1, len(places), 1, 1).requires_grad_()
        with torch.enable_grad(), constant(loss_net), twice_differentiable():
            energy = loss_net(features, copies, mask).sum()
            (gradient,) = torch.autograd.grad(energy, copies, create_graph=True)
            if not gradient.requires_grad:
                # The loss-net has a local energy alone, which is linear in the outputs.
                continue
            # shape: (batch, places, tags)
            before = gradient[:, copy, places] * mask[:, places + 1].unsqueeze(-1)
            for tag in range(tags):
                (row,) = torch.autograd.grad(before[..., tag].sum(), copies, retain_graph=True)
                total[tag] += row[:, copy, places + 1].sum(dim=(0, 1))
    return total


def bigrams(gold: torch.Tensor, mask: torch.Tensor, tags: int) -> torch.Tensor:
    """
    Counts how often a tag (row) comes right before another (column): `(tags, tags)`.

    # Parameters

    gold : `torch.LongTensor`, `(batch, tokens)`
        Indices of tags.
    mask : `torch.BoolTensor`, `(batch, tokens)`
        True at real tokens.
    """
    pairs = (gold[:, :-1] * tags + gold[:, 1:])[mask[:, 1:]]
    return torch.bincount(pairs, minlength=tags * tags).view(tags, tags)


def pointwise_mutual_information(counts: torch.Tensor) -> torch.Tensor:
    """`log(P(a, b) / (P(a) P(b)))` of bigrams, in nats; NaN where they never occur."""
    share = counts.double() / counts.sum()
    independent = share.sum(dim=1, keepdim=True) * share.sum(dim=0, keepdim=True)
    return torch.where(counts > 0, (share / independent).log(), torch.nan)


def centred(matrix: torch.Tensor) -> torch.Tensor:
    """
    `matrix` with the means of its rows and columns subtracted. In an energy of pairs these means are arbitrary: as the
    outputs of a position sum to 1, `W[a, b] + u[a] + v[b]` differs from `W` only in terms of single tags, which the
    local energy can express as well.
    """
    return matrix - matrix.mean(dim=0, keepdim=True) - matrix.mean(dim=1, keepdim=True) + matrix.mean()
