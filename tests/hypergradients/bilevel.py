"""Bi-level problems with known hypergradients, in float64; their references use nothing of `seal`."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import binary_cross_entropy, softplus

WAYS = pytest.mark.parametrize("products, tolerance", [("autograd", 1e-10), ("finite_differences", 1e-6)])

A = torch.tensor([[2.0, 1.0], [1.0, 2.0]], dtype=torch.double)
B = torch.tensor([[1.0, 0.0], [1.0, 1.0]], dtype=torch.double)


def leaf(*values):
    return torch.nn.Parameter(torch.tensor(values, dtype=torch.double))


def problem(theta, psi, inner_loss, outer_loss):
    """A problem; `*problem.parts` are the first four arguments of `hypergradient`."""
    parts = (lambda: inner_loss(theta, psi), lambda: outer_loss(theta, psi), {"theta": theta}, {"psi": psi})
    return SimpleNamespace(theta=theta, psi=psi, inner_loss=inner_loss, outer_loss=outer_loss, parts=parts)


def quadratic(target):
    """A quadratic inner and outer loss, at the inner minimum (1/3, 4/3)."""
    c, a = torch.tensor([1.0, 0.0], dtype=torch.double), torch.tensor(target, dtype=torch.double)
    return problem(
        leaf(1 / 3, 4 / 3),
        leaf(1.0, 2.0),
        lambda theta, psi: theta @ A @ theta / 2 - theta @ (B @ psi + c),
        lambda theta, psi: (theta - a).square().sum() / 2 + 0.1 * psi.square().sum() / 2,
    )


def exponential():
    """The inner loss `e^theta - psi theta` at its minimum ln 2: parameters of shape `()`."""
    theta = torch.nn.Parameter(torch.tensor(2.0, dtype=torch.double).log())
    psi = torch.nn.Parameter(torch.tensor(2.0, dtype=torch.double))
    return problem(theta, psi, lambda theta, psi: theta.exp() - psi * theta, lambda theta, psi: theta.square() / 2)


X = torch.tensor([(1, 0.5), (-0.3, 1), (0.2, -1), (-1, -0.4)], dtype=torch.double)
Y = torch.tensor([1.0, 0, 1, 0], dtype=torch.double)


def _energy(outputs, psi):
    return outputs * (X @ psi[:2]) + psi[2] * softplus(2 * outputs - 1)


def _seal_inner(theta, psi):
    p = torch.sigmoid(X @ theta)
    return binary_cross_entropy(p, Y) + 0.3 * _energy(p, psi).mean() + 0.25 * theta.square().sum()


def _seal_outer(theta, psi):
    p = torch.sigmoid(X @ theta)
    return softplus((p - Y).abs() + _energy(Y, psi) - _energy(p, psi)).mean()


def seal_shaped():
    """Task-net, loss-net and losses of SEAL's form, in small, at the inner minimum."""
    psi = leaf(0.2, -0.1, 0.4)
    return problem(torch.nn.Parameter(minimum(_seal_inner, psi.detach(), 2)), psi, _seal_inner, _seal_outer)


def minimum(inner_loss, psi, size):
    """`argmin` by Newton's method, from zeros."""
    theta = torch.zeros(size, dtype=torch.double, requires_grad=True)
    for _ in range(20):
        (gradient,) = torch.autograd.grad(inner_loss(theta, psi), theta)
        hessian = torch.autograd.functional.hessian(lambda t: inner_loss(t, psi), theta)
        theta = (theta - torch.linalg.solve(hessian, gradient)).detach().requires_grad_(True)
    return theta.detach()


def resolved(given, width=1e-3):
    """The hypergradient by solving anew on both sides of each `psi_j`, with fourth-order differences."""

    def value(psi):
        theta = minimum(given.inner_loss, psi, given.theta.numel())
        return float(given.outer_loss(theta, psi))

    psi, slopes = given.psi.detach(), []
    for unit in torch.eye(len(psi), dtype=torch.double) * width:
        near = (value(psi + unit) - value(psi - unit)) / (2 * width)
        far = (value(psi + 2 * unit) - value(psi - 2 * unit)) / (4 * width)
        slopes.append((4 * near - far) / 3)
    return torch.tensor(slopes, dtype=torch.double)


def symmetric(eigenvalues, seed=0):
    """A random symmetric matrix with these eigenvalues, and a right-hand side."""
    generator = torch.Generator().manual_seed(seed)
    eigenvalues = torch.as_tensor(eigenvalues, dtype=torch.double)
    size = len(eigenvalues)
    basis, _ = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.double))
    matrix = (basis * eigenvalues) @ basis.T
    return (matrix + matrix.T) / 2, torch.randn(size, generator=generator, dtype=torch.double)


def positive_definite(size, condition):
    """With eigenvalues from 1 to `1 / condition`, evenly in logarithm."""
    return symmetric(torch.logspace(0, -torch.tensor(float(condition)).log10().item(), size, dtype=torch.double))


def exact_solution(matrix, rhs, damping=0.0):
    """`(matrix + damping I)^-1 rhs`."""
    return torch.linalg.solve(matrix + damping * torch.eye(len(rhs), dtype=rhs.dtype), rhs)


def relative_error(found, expected):
    return float(torch.linalg.vector_norm(found - expected) / torch.linalg.vector_norm(expected))


def near(found, expected, tolerance):
    assert found.tolist() == pytest.approx(expected, abs=tolerance, rel=0)
