"""The gradient and Hessian of an energy with respect to a label set, which show how it treats pairs of labels."""

from typing import Any

import torch
from allennlp.common.checks import ConfigurationError

from seal.energies.energy import LocalEnergy
from seal.nets import LossNet


def global_energy(loss_net: LossNet, features: list[Any], outputs: torch.Tensor) -> torch.Tensor:
    """
    The sum of a loss-net's terms in which labels interact, all except the local one: `(batch, samples)`.

    # Parameters

    features : `list[Any]`
        The result of `loss_net.encode`.
    outputs : `torch.Tensor`, `(batch, samples, labels)`

    # Raises

    `ConfigurationError` if the loss-net has no other term than the local one.
    """
    terms = [
        energy(condition, outputs)
        for energy, condition in zip(loss_net.energies, features)
        if not isinstance(energy, LocalEnergy)
    ]
    if not terms:
        raise ConfigurationError("the model's loss-net has a local energy alone, in which labels do not interact.")
    return sum(terms)


def mean_hessian(loss_net: LossNet, features: list[Any], outputs: torch.Tensor) -> torch.Tensor:
    """
    The Hessian of the global energy in the outputs, averaged over the batch:
    `1/N sum_n d^2 E_global(x_n, y_n) / dy^2` (implicit-training paper, appendix C), `(labels, labels)`.

    # Parameters

    features : `list[Any]`
        The result of `loss_net.encode`.
    outputs : `torch.Tensor`, `(batch, labels)`
        The points `y_n`.
    """
    outputs = outputs.detach().requires_grad_()
    with torch.enable_grad():
        energy = global_energy(loss_net, features, outputs.unsqueeze(1)).sum()
        (gradient,) = torch.autograd.grad(energy, outputs, create_graph=True)
        rows = []
        for label in range(outputs.shape[1]):
            (row,) = torch.autograd.grad(gradient[:, label].sum(), outputs, retain_graph=True)
            rows.append(row.mean(dim=0))
    return torch.stack(rows)


def pair_gradient(
    loss_net: LossNet, features: list[Any], others: torch.Tensor, first: int, second: int, steps: int
) -> torch.Tensor:
    """
    The gradient `dE_global / dy_k` where `y_i` and `y_k` run over a grid of [0, 1] and the other labels are fixed
    (SEAL, NeurIPS 2022, Figure 2): `(steps, steps)`, with a row for each value of `y_i` and a column for each value of
    `y_k`.

    # Parameters

    features : `list[Any]`
        The result of `loss_net.encode` for one row.
    others : `torch.Tensor`, `(labels,)`
        The values of the other labels; its values at `first` and `second` are not used.
    first, second : `int`
        The labels `i` and `k`.
    steps : `int`
        The number of grid points in each direction, ends included.
    """
    grid = torch.linspace(0, 1, steps, dtype=others.dtype, device=others.device)
    outputs = others.detach().repeat(steps, steps, 1)
    outputs[:, :, first] = grid.unsqueeze(1)
    outputs[:, :, second] = grid
    outputs.requires_grad_()
    with torch.enable_grad():
        energy = global_energy(loss_net, features, outputs.flatten(0, 1).unsqueeze(0)).sum()
        (gradient,) = torch.autograd.grad(energy, outputs)
    return gradient[:, :, second]


def first_row(features: list[Any]) -> list[Any]:
    """The part of a batch's `features` that belongs to its first row."""
    return [condition[:1] if isinstance(condition, torch.Tensor) else condition for condition in features]
