"""Fits a joint score to data by maximum likelihood with an L2 penalty."""

from collections.abc import Sequence
from typing import Any

import torch

from seal.structure.joint_score import CandidateBatch, JointScore, LinearEnergy, has_gold
from seal.structure.lbfgs import minimise
from seal.structure.linear_system import LinearSystem, Objective


class BatchObjective(Objective):
    """The loss of any joint score; each evaluation is a pass over all data, with autograd."""

    def __init__(self, joint: JointScore, parts: Sequence[CandidateBatch]) -> None:
        super().__init__(joint)
        self._joint = joint
        self._parts = [part.with_gold() for part in parts if bool(has_gold(part).any())]
        self.count = sum(map(self._weight, self._parts))

    @torch.enable_grad()
    def loss_and_gradient(self, theta: torch.Tensor) -> tuple[float, torch.Tensor]:
        self.set_theta(theta)
        self._joint.zero_grad()
        total = 0.0
        for part in self._parts:
            loss = self._loss(part)
            loss.backward()
            total += loss.item()
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters]
        return total, torch.cat([gradient.flatten() for gradient in gradients])

    def _weight(self, part: Any) -> float:
        """The number of instances of a batch whose gold is a candidate, or the sum of their weights."""
        return int(has_gold(part).sum())

    def _loss(self, part: Any) -> torch.Tensor:
        """The loss of a batch, in nats, summed over instances: a scalar with gradient."""
        return self._joint.loss(part)


def objective_of(joint: JointScore, parts: Sequence[CandidateBatch]) -> Objective:
    """
    The loss that `fit` minimises, on held-out data in batches: a `LinearSystem` if all energies are linear, which takes
    a fraction of the time, else `BatchObjective`.
    """
    linear = all(isinstance(energy, LinearEnergy) for energy in joint.energies)
    return (LinearSystem if linear else BatchObjective)(joint, parts)


def fit(
    joint: JointScore,
    objective: Objective,
    l2: float,
    max_steps: int = 60,
    restart: bool = True,
    tolerance: float = 1e-7,
    products: bool = True,
) -> float:
    """
    Learns the scale and the energies of a joint score by minimising

    `sum_i -log q(gold_i | x_i) + l2/2 |theta|^2`,

    by L-BFGS. The penalty is a Gaussian prior of variance `1 / l2` on the parameters `theta` of the energies, except
    those that an energy lists in `without_prior`.

    # Parameters

    joint : `JointScore`
    objective : `Objective`
        The result of `objective_of`.
    l2 : `float`
        The weight of the L2 penalty.
    max_steps : `int`, optional (default = `60`)
    restart : `bool`, optional (default = `True`)
        Whether to start at 0; else at the present parameters, of which those for another penalty are a good start.
    tolerance : `float`, optional (default = `1e-7`)
        A step that lowers the mean loss by less, in nats, is the last one.
    products : `bool`, optional (default = `True`)
        Whether energies that are products of parameters (`factors`) are learned; otherwise they stay 0.

    # Returns

    `float`
        The mean loss of an instance whose gold is a candidate, without the penalty, in nats.
    """
    if restart:
        reset(joint)
    if products:
        _leave_zero(joint)
    if objective.count == 0:
        return float("nan")
    has_prior = _has_prior(joint)

    def mean_loss(theta: torch.Tensor) -> tuple[float, torch.Tensor]:
        loss, gradient = objective.loss_and_gradient(theta)
        penalised = theta * has_prior
        value = loss + l2 / 2 * float(penalised.square().sum())
        return value / objective.count, (gradient + l2 * penalised) / objective.count

    start = objective.theta()
    has_prior = has_prior.to(start)
    theta = minimise(mean_loss, start, max_steps, tolerance)
    objective.set_theta(theta)
    return objective.loss_and_gradient(theta)[0] / objective.count


@torch.no_grad()
def reset(joint: JointScore) -> None:
    """Sets the scale to 1 and the energies' parameters to 0."""
    joint.scale.fill_(1.0)
    for energy in joint.energies:
        for parameter in energy.parameters():
            parameter.zero_()


@torch.no_grad()
def _leave_zero(joint: JointScore) -> None:
    """Adds a little noise to factors of products that are all 0, where the gradient of the product is 0."""
    for energy in joint.energies:
        for name in energy.factors:
            parameter = energy.get_parameter(name)
            if parameter.abs().amax() < 0.01:
                _jitter(parameter)


def _has_prior(joint: JointScore) -> torch.Tensor:
    """1 for each entry of `Objective.theta` with a prior, else 0; the scale, which comes first, has none."""
    has_prior = [torch.zeros(1)]
    for energy in joint.energies:
        for name, parameter in energy.named_parameters():
            has_prior.append(torch.full((parameter.numel(),), float(name not in energy.without_prior)))
    return torch.cat(has_prior)


def _jitter(parameter: torch.Tensor) -> None:
    """Sets a parameter to small noise, the same every time."""
    noise = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)) * 0.1
    parameter.copy_(noise.to(parameter))
