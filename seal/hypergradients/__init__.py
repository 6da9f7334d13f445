"""
Gradients through a minimum: of an outer loss `L_Prim(theta*(psi), psi)` with respect to `psi`, where `theta*(psi)`
minimises an inner loss `L_Aux(., psi)` (implicit-training paper, Eq. 2-4 and Appendix A).

    import torch
    from seal.hypergradients import ConjugateGradient, hypergradient

    torch.manual_seed(0)
    (x, y), (held_out_x, held_out_y) = [(torch.randn(32, 4), torch.randn(32, 1)) for _ in range(2)]
    net = torch.nn.Linear(4, 1)
    log_decay = torch.nn.Parameter(torch.zeros(1, 4))  # of each weight

    def inner_loss():
        return (net(x) - y).square().mean() + (log_decay.exp() * net.weight.square()).sum()

    def outer_loss():
        return (net(held_out_x) - held_out_y).square().mean()

    theta, psi = dict(net.named_parameters()), {"log_decay": log_decay}
    optimizers = torch.optim.SGD(theta.values(), lr=0.1), torch.optim.Adam(psi.values(), lr=0.1)
    for step in range(200):
        theta["weight"].grad, theta["bias"].grad = torch.autograd.grad(inner_loss(), theta.values())
        optimizers[0].step()
        if step % 10 == 9:
            found = hypergradient(inner_loss, outer_loss, theta, psi, ConjugateGradient())
            log_decay.grad = found.gradient["log_decay"]
            optimizers[1].step()
            print(f"{found.report.loss:.4f}", found.report.status)
"""

from seal.hypergradients.direct import (
    DiagonalHessian,
    ExactInverse,
    NystroemInverse,
    ShermanMorrison,
    hutchinson_diagonal,
)
from seal.hypergradients.hypergradient import Hypergradient, HypergradientReport, hypergradient
from seal.hypergradients.input_spans import InputSpans
from seal.hypergradients.krylov import ConjugateGradient, MinimalResidual
from seal.hypergradients.neumann import NeumannSeries, ScaledIdentity
from seal.hypergradients.parameter_layout import ParameterLayout
from seal.hypergradients.products import (
    LossProducts,
    NonFiniteValue,
    cross_hessian_vector_product,
    hessian_vector_product,
    loss_products,
)
from seal.hypergradients.solver import Curvature, InverseHessianVector, Solution
from seal.hypergradients.unrolled import UnrolledHypergradient, unrolled_hypergradient
