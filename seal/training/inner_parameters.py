"""The inner parameters of bi-level training: those of the task-net that follow the loss-net."""

import logging
import re
from collections.abc import Iterable
from typing import Optional, Union

import torch
from allennlp.common.checks import ConfigurationError

from seal.models import SealModel
from seal.training.parameter_names import check_found

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
