import inspect
from typing import Any, Union

import torch

from seal.common.setting_checks import check_choice, short
from seal.registry import ConfigurationError

#: torch's optimizers that update every element separately: an instance's result does not depend on the others of its
#: batch.
OPTIMIZERS = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
    "rmsprop": torch.optim.RMSprop,
    "asgd": torch.optim.ASGD,
    "rprop": torch.optim.Rprop,
}
# Arguments of their constructors that are given otherwise, would go up, or concern the implementation.
_NOT_SET = {"self", "params", "lr", "maximize", "foreach", "capturable", "differentiable", "fused"}


class ElementwiseOptimizer:
    """
    Makes the optimizers of descents over outputs, a new one for each.

    # Parameters

    given : `Union[str, dict[str, Any]]`
        A name in `OPTIMIZERS`, or an object of it, as `type`, and arguments of its constructor.
    step_size : `float`
        The learning rate, above 0.
    where : `str`
        The beginning of messages: what the optimizer is set for.

    # Raises

    `ConfigurationError` for an unknown name, or an argument that the optimizer does not have or cannot take.
    """

    def __init__(self, given: Union[str, dict[str, Any]], step_size: float, where: str) -> None:
        if not isinstance(given, (str, dict)):
            raise ConfigurationError(f"{where}: optimizer is a name or an object with a type, not {short(given)}.")
        self._arguments: dict[str, Any] = {} if isinstance(given, str) else dict(given)
        self.name = given if isinstance(given, str) else self._arguments.pop("type", None)
        self._step_size = step_size
        check_choice(f"{where}: optimizer", self.name, tuple(OPTIMIZERS))
        known = [name for name in inspect.signature(OPTIMIZERS[self.name]).parameters if name not in _NOT_SET]
        for name in self._arguments:
            if name not in known:
                hint = "; it is given by step_size" if name == "lr" else f"; it has {', '.join(known)}"
                raise ConfigurationError(f"{where}: optimizer.{name} is not a setting of '{self.name}' here{hint}.")
        try:
            self.new(torch.zeros(1))
        except (TypeError, ValueError) as error:
            raise ConfigurationError(f"{where}: optimizer has a wrong value for '{self.name}': {error}.") from error

    def new(self, point: torch.Tensor) -> torch.optim.Optimizer:
        """An optimizer of `point`, which knows of no earlier step."""
        return OPTIMIZERS[self.name]([point], lr=self._step_size, **self._arguments)
