"""The settings of bi-level training with their checks, and the choice of the inner parameters."""

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Optional, Union

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError

from seal.common.setting_checks import check_choice, check_range, error_prefix, require
from seal.hypergradients import InverseHessianVector, NeumannSeries, ShermanMorrison
from seal.hypergradients.products import PRODUCTS
from seal.samplers import check_new_candidates, check_through
from seal.tasks.base import SealModel
from seal.two_player.model_checks import check_finite_differences, check_implicit

logger = logging.getLogger(__name__)

#: The geometries in which the linear system can be solved.
GEOMETRIES = ("euclidean", "adam")


@dataclass
class Unrolling(FromParams):
    """
    The settings of an unrolled inner loop, which replaces the implicit gradient.

    # Parameters

    num_steps : `int`
        The number of steps of gradient descent on the task loss of one batch; at least 1.
    step_size : `float`
        Above 0.
    backward_steps : `int`, optional
        The number of last steps that are differentiated; `None`: all.

    # Raises

    `ConfigurationError` for a number outside these ranges.
    """

    num_steps: int
    step_size: float
    backward_steps: Optional[int] = None

    def __post_init__(self) -> None:
        check_range("trainer.unroll.num_steps", self.num_steps, least=1)
        check_range("trainer.unroll.step_size", self.step_size, above=0)
        check_range("trainer.unroll.backward_steps", self.backward_steps, least=1)


@dataclass
class Bilevel:
    """
    The settings of bi-level training, described in `ImplicitGradientTrainer`. A `solver` of `None` becomes the default.

    # Raises

    `ConfigurationError` for an unknown choice, or for a setting of the linear system together with `unroll`.
    """

    solver: Optional[InverseHessianVector] = None
    implicit: bool = True
    through: str = "straight_through"
    inner_parameters: Optional[Union[str, list[str]]] = None
    products: str = "autograd"
    warm_start: bool = False
    geometry: str = "euclidean"
    unroll: Optional[Unrolling] = None

    def __post_init__(self) -> None:
        with error_prefix("trainer"):
            check_through(self.through)
        check_choice("trainer.products", self.products, PRODUCTS)
        check_choice("trainer.geometry", self.geometry, GEOMETRIES)
        if self.unroll is not None:
            self._check_no_system()
        if self.solver is None:
            self.solver = NeumannSeries(damping=0.1, max_steps=5)

    def _check_no_system(self) -> None:
        system_settings = {
            "solver": self.solver is not None,
            "warm_start": self.warm_start,
            "geometry": self.geometry == "adam",
        }
        for name, given in system_settings.items():
            if given:
                raise ConfigurationError(
                    f"trainer.{name}: with 'unroll' no system is solved; leave one of the two out."
                )

    def check_model(self, model: SealModel) -> None:
        """Raises a `ConfigurationError` if these settings cannot compute the model's gradient."""
        with error_prefix("trainer"):
            check_new_candidates(self.through, model.sampler, model.energy_loss)
        if isinstance(self.solver, ShermanMorrison) and not self.solver.average:
            raise ConfigurationError(
                "trainer.solver.average: the task-net's loss is the mean over the instances of a batch, not their sum; "
                "leave it out, or set it to true."
            )
        if self.implicit:
            with error_prefix("model"):
                check_implicit(model.task_loss)
                if self.products == "finite_differences":
                    check_finite_differences(model)

    def check_distributed(self, parts: int) -> None:
        """
        Checks that the workers of a distributed run can solve one linear system together.

        # Parameters

        parts : `int`
            The number of batches of gradient accumulation.

        # Raises

        `ConfigurationError` if they cannot.
        """
        if self.solver is not None and self.solver.needs_examples:
            raise ConfigurationError(
                f"trainer.solver.type: {type(self.solver).__name__} would see the examples of one worker only; leave "
                "out distributed, or take 'conjugate_gradient'."
            )
        if parts > 1:
            raise ConfigurationError(
                "trainer.num_gradient_accumulation_steps: with distributed all workers solve for their batches "
                "together, and one may have fewer of them in its last group than another; leave it out and take "
                "smaller batches."
            )


def check_patterns(patterns: Iterable[str], names: Iterable[str], key: str, whose: str) -> None:
    """
    Checks regular expressions that select parameters by name.

    # Parameters

    patterns, names : `Iterable[str]`
        The regular expressions, and the names of the parameters.
    key, whose : `str`
        For messages: the config key of the patterns, and the owner of the parameters, such as "of the model".

    # Raises

    `ConfigurationError` if a pattern is not a regular expression or matches no name.
    """
    names = list(names)
    for pattern in patterns:
        try:
            matches = any(re.search(pattern, name) for name in names)
        except re.error as error:
            raise ConfigurationError(f"{key}: {pattern!r} is not a regular expression: {error}.") from error
        if not matches:
            raise ConfigurationError(f"{key}: {pattern!r} is found in the name of no parameter {whose}.")


# The least weight of a parameter, relative to the mean weight.
_LEAST_WEIGHT = 0.01


def adam_geometry(
    optimizer: torch.optim.Optimizer, parameters: Mapping[str, torch.nn.Parameter]
) -> Optional[dict[str, torch.Tensor]]:
    """
    The metric of Adam's geometry: for each parameter, by name, the square root of Adam's average squared gradients,
    divided by the mean over all parameters, and at least 0.01. `None` before the first update.
    """
    states = optimizer.state
    squares = {name: states[p]["exp_avg_sq"] for name, p in parameters.items() if "exp_avg_sq" in states.get(p, {})}
    if not squares:
        return None
    roots = {name: squares[name].sqrt() if name in squares else torch.zeros_like(p) for name, p in parameters.items()}
    size, total = sum(root.numel() for root in roots.values()), sum(root.sum() for root in roots.values())
    mean = torch.as_tensor(total / size).clamp(min=torch.finfo(torch.float32).tiny)
    return {name: (root / mean).clamp(min=_LEAST_WEIGHT) for name, root in roots.items()}


def check_adam(optimizer: torch.optim.Optimizer) -> None:
    """Raises a `ConfigurationError` if the task-net's optimizer is not a variant of Adam."""
    if not isinstance(optimizer, (torch.optim.Adam, torch.optim.AdamW, torch.optim.NAdam, torch.optim.RAdam)):
        raise ConfigurationError(
            f"trainer.geometry: 'adam', and the task-net's optimizer is {type(optimizer).__name__}; take 'fused_adamw' "
            "or another Adam."
        )


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
    Selects the inner parameters.

    # Parameters

    model : `SealModel`
    moved : `dict[str, torch.nn.Parameter]`
        The parameters of the task-net's optimizer, by name.
    chosen : `Union[str, list[str]]`, optional
        The trainer's setting `inner_parameters`.

    # Raises

    `ConfigurationError` if none is selected, or a regular expression matches no name.
    """
    if chosen is None:
        return moved
    if chosen == "last_layer":
        last = _last_layer(model)
        selected = {name: parameter for name, parameter in moved.items() if parameter in last}
        if not selected:
            raise ConfigurationError(
                "trainer.inner_parameters: 'last_layer', and the task-net has none, or none that its optimizer "
                "moves; leave it out to take all of its parameters, or give regular expressions."
            )
        return selected
    if not isinstance(chosen, list):
        raise ConfigurationError(
            f"trainer.inner_parameters: 'last_layer' or a list of regular expressions, not {chosen!r}."
        )
    check_patterns(chosen, moved, "trainer.inner_parameters", "that the task-net's optimizer moves")
    selected = {name: p for name, p in moved.items() if any(re.search(pattern, name) for pattern in chosen)}
    if not selected:
        raise ConfigurationError("trainer.inner_parameters: an empty list; leave it out to take all.")
    return selected


def all_in_last_layer(model: SealModel, parameters: Iterable[torch.nn.Parameter]) -> bool:
    """Whether all of these parameters belong to the task-net's last layer."""
    return set(parameters) <= _last_layer(model)


def _last_layer(model: SealModel) -> set[torch.nn.Parameter]:
    return set(require(model.task_net, "task_net").last_layer_parameters())


def check_full_precision(model: SealModel, inner: Iterable[torch.nn.Parameter], on_cpu: bool) -> None:
    """Raises a `ConfigurationError` if mixed precision would affect second derivatives by the `inner` parameters."""
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
    """
    Warns of activations whose second derivative is 0. If the `inner` parameters are in the task-net's last layer, only
    the loss-net's activations matter.
    """
    names = ["loss_net"] if all_in_last_layer(model, inner) else ["task_net", "loss_net"]
    for name, net in ((name, model.nets()[name]) for name in names):
        kinked = sorted({type(module).__name__ for module in net.modules() if isinstance(module, _KINKED)})
        if kinked:
            logger.warning(
                "Implicit gradients need second derivatives. That of %s in the %s is 0, so the curvature of this "
                "activation is ignored; use softplus, tanh or GELU.",
                ", ".join(kinked),
                name,
            )
