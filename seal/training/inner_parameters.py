"""The inner parameters of bi-level training: those of the task-net that follow the loss-net."""

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Optional, Union

import torch
from allennlp.common.checks import ConfigurationError

from seal.models import SealModel


def check_found(patterns: Iterable[str], names: Iterable[str], key: str, whose: str) -> None:
    """
    It is an error if one of the patterns is no regular expression, or is found in none of the names. For the message:
    `key`, the config key that has the patterns, and `whose` parameters these are, such as "of the model".
    """
    names = list(names)
    for pattern in patterns:
        try:
            found = any(re.search(pattern, name) for name in names)
        except re.error as error:
            raise ConfigurationError(f"{key}: {pattern!r} is not a regular expression: {error}.") from error
        if not found:
            raise ConfigurationError(f"{key}: {pattern!r} is found in the name of no parameter {whose}.")


# The least weight of a parameter, in units of the mean one.
_LEAST_WEIGHT = 0.01


def adam_geometry(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.nn.Parameter]
) -> Optional[dict[str, torch.Tensor]]:
    """
    For each parameter, by name, the roots of the optimizer's average squared gradients, divided by their mean and at
    least a hundredth; `None` before the first update.
    """
    states = optimizer.state
    squares = {name: states[p]["exp_avg_sq"] for name, p in parameters.items() if "exp_avg_sq" in states.get(p, {})}
    if not squares:
        return None
    roots = {name: squares[name].sqrt() if name in squares else torch.zeros_like(p) for name, p in parameters.items()}
    size = sum(root.numel() for root in roots.values())
    mean = (sum(root.sum() for root in roots.values()) / size).clamp(min=torch.finfo(torch.float32).tiny)
    return {name: (root / mean).clamp(min=_LEAST_WEIGHT) for name, root in roots.items()}


def check_adam(optimizer: torch.optim.Optimizer) -> None:
    """`ConfigurationError` if the task-net's optimizer keeps no averages of squared gradients."""
    if not isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam)):
        raise ConfigurationError(
            f"trainer.geometry: 'adam', and the task-net's optimizer is {type(optimizer).__name__}; take 'fused_adamw' "
            "or another Adam."
        )


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


def inner_parameters(
    model: SealModel, moved: dict[str, torch.nn.Parameter], chosen: Optional[Union[str, list[str]]]
) -> dict[str, torch.nn.Parameter]:
    """
    Those of `moved`, what the task-net's optimizer moves, that are `chosen` as the trainer's `inner_parameters`. It is
    an error if none is, or an expression is found in no name.
    """
    if chosen is None:
        return moved
    if chosen == "last_layer":
        last = set(model.task_net.last_layer_parameters())
        found = {name: parameter for name, parameter in moved.items() if parameter in last}
        if not found:
            raise ConfigurationError(
                "trainer.inner_parameters: 'last_layer', and the task-net has none, or none that its optimizer "
                "moves; leave it out to take all of its parameters, or give regular expressions."
            )
        return found
    if not isinstance(chosen, list):
        raise ConfigurationError(
            f"trainer.inner_parameters: 'last_layer' or a list of regular expressions, not {chosen!r}."
        )
    check_found(chosen, moved, "trainer.inner_parameters", "that the task-net's optimizer moves")
    found = {name: p for name, p in moved.items() if any(re.search(pattern, name) for pattern in chosen)}
    if not found:
        raise ConfigurationError("trainer.inner_parameters: an empty list; leave it out to take all.")
    return found


def all_in_last_layer(model: SealModel, parameters: Iterable[torch.nn.Parameter]) -> bool:
    """Whether these parameters are all of the task-net's last layer."""
    return set(parameters) <= set(model.task_net.last_layer_parameters())


def check_full_precision(model: SealModel, inner: Iterable[torch.nn.Parameter], on_cpu: bool) -> None:
    """`ConfigurationError` if mixed precision would concern the second derivatives by the `inner` parameters."""
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
