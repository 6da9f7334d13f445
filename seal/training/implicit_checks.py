"""Checks of the settings of bi-level training. Each mistake is a `ConfigurationError`."""

import logging
from collections.abc import Iterable
from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError

from seal.hypergradients import InverseHessianVector, ShermanMorrison
from seal.models import SealModel
from seal.nets import StackedNet
from seal.samplers import DiscreteSampler, StackedSampler

logger = logging.getLogger(__name__)

# Piecewise linear activations: their second derivative is 0 wherever it exists.
_KINKED = (
    torch.nn.ReLU,
    torch.nn.ReLU6,
    torch.nn.LeakyReLU,
    torch.nn.PReLU,
    torch.nn.RReLU,
    torch.nn.Hardtanh,
    torch.nn.Hardshrink,
    torch.nn.Softshrink,
    torch.nn.Threshold,
)


def check_new_candidates(model: SealModel, through: str) -> None:
    """Refuses a `through` that makes other candidates than the sampler's, where the loss needs those of the sampler."""
    if through in ("relaxed", "soft") and model.energy_loss is not None and model.energy_loss.needs_noise_log_prob:
        raise ConfigurationError(
            f"trainer.through: '{through}' makes candidates whose log-probability nobody knows, and "
            f"{type(model.energy_loss).__name__} needs it; take 'straight_through'."
        )
    samplers = model.sampler.samplers if isinstance(model.sampler, StackedSampler) else [model.sampler]
    other = [type(sampler).__name__ for sampler in samplers if not isinstance(sampler, (DiscreteSampler, type(None)))]
    if through == "relaxed" and other:
        raise ConfigurationError(
            "trainer.through: 'relaxed' puts independent draws from the task-net in the place of all candidates, and "
            f"model.sampler, {other[0]}, finds others; take 'straight_through', or the sampler 'discrete'."
        )


def check_energy_weight(model: SealModel) -> None:
    if model.task_loss.energy_weight == 0:
        raise ConfigurationError(
            "model.task_loss.energy_weight: with 0 the task-net does not follow the loss-net, so there is no "
            "implicit gradient; set it above 0, or trainer.implicit to false."
        )
    if model.task_loss.through_draws:
        raise ConfigurationError(
            "model.task_loss.type: 'through_draws' takes energies for constants, so that there is no implicit "
            "gradient; take 'weighted', or set trainer.implicit to false."
        )


def check_unrolled(solver: Optional[InverseHessianVector], warm_start: bool, geometry: str) -> None:
    """Refuses what only a system has, where there is none."""
    for name, given in (("solver", solver is not None), ("warm_start", warm_start), ("geometry", geometry == "adam")):
        if given:
            raise ConfigurationError(f"trainer.{name}: with 'unroll' no system is solved; leave one of the two out.")


def check_adam(optimizer: torch.optim.Optimizer) -> None:
    """Refuses an optimizer that keeps no averages of squared gradients."""
    if not isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam)):
        raise ConfigurationError(
            f"trainer.geometry: 'adam', and the task-net's optimizer is {type(optimizer).__name__}; take 'fused_adamw' "
            "or another Adam."
        )


def check_average(solver: Optional[InverseHessianVector]) -> None:
    """Refuses a solver that takes the task loss, which is a mean over instances, for a sum."""
    if isinstance(solver, ShermanMorrison) and not solver.average:
        raise ConfigurationError(
            "trainer.solver.average: the task-net's loss is the mean over the instances of a batch, not their sum; "
            "leave it out, or set it to true."
        )


def check_finite_differences(model: SealModel) -> None:
    """Refuses a task loss that depends on the task-net in ways that its gradient leaves out, as differences do not."""
    reasons = {
        "model.task_loss.straight_through: it": model.task_loss.straight_through,
        "model.task_loss: it draws outputs, which": model.task_loss.draws,
        "model.loss_net: its encoder is the task-net's, whose output for it": model.loss_net.shares_encoder,
        "model.cost_augmented_net: its input": isinstance(model.cost_augmented_net, StackedNet),
    }
    for what, found in reasons.items():
        if found:
            raise ConfigurationError(
                f"{what} counts as constant in the task-net's gradient, but moves with its parameters in finite "
                "differences; set trainer.products to 'autograd'."
            )


def check_distributed(solver: Optional[InverseHessianVector], parts: int) -> None:
    """`parts` is the number of batches that are accumulated."""
    if solver is not None and solver.needs_examples:
        raise ConfigurationError(
            f"trainer.solver.type: {type(solver).__name__} would see the examples of one worker only; leave out "
            "distributed, or take 'conjugate_gradient'."
        )
    if parts > 1:
        raise ConfigurationError(
            "trainer.num_gradient_accumulation_steps: with distributed all workers solve for their batches together, "
            "and one may have fewer of them in its last group than another; leave it out and take smaller batches."
        )


def check_mixed_precision(model: SealModel, inner: Iterable[torch.nn.Parameter], on_cpu: bool) -> None:
    """`inner` are the inner parameters."""
    if not on_cpu:
        raise ConfigurationError(
            "trainer.use_amp: on a GPU it is float16, in which an implicit gradient would vanish; leave it "
            "out, or set implicit to false."
        )
    if not all_in_last_layer(model, inner):
        raise ConfigurationError(
            "trainer.use_amp: second derivatives need full precision, which encoders would not have; set "
            "inner_parameters to 'last_layer', leave use_amp out, or set implicit to false."
        )


def all_in_last_layer(model: SealModel, parameters: Iterable[torch.nn.Parameter]) -> bool:
    """Whether these parameters are all of the task-net's last layer."""
    return set(parameters) <= set(model.task_net.last_layer_parameters())


def warn_of_kinks(model: SealModel, inner: Iterable[torch.nn.Parameter]) -> None:
    """Warns of activations without second derivatives; below the last layer they do not matter if `inner` is that."""
    nets: dict[str, torch.nn.Module] = {} if all_in_last_layer(model, inner) else {"task_net": model.task_net}
    nets["loss_net"] = model.loss_net
    for name, net in nets.items():
        found = sorted({type(module).__name__ for module in net.modules() if isinstance(module, _KINKED)})
        if found:
            logger.warning(
                "Implicit gradients need second derivatives. That of %s in the %s is 0, so the curvature of this "
                "activation is ignored; use softplus, tanh or GELU.",
                ", ".join(found),
                name,
            )
