"""
`Registrable`, `FromParams`, `Lazy`, `Activation` and `ConfigurationError`: AllenNLP's classes if AllenNLP is installed,
so that jsonnet configs can name registered classes; otherwise small replacements, with which the core needs only torch
and numpy.
"""

import importlib
from collections.abc import Callable
from typing import Any

from seal.lazy_imports import LAZY, lazy

try:
    with lazy(*LAZY):
        from allennlp.common import FromParams, Lazy, Registrable
        from allennlp.common.checks import ConfigurationError
        from allennlp.nn import Activation
except ImportError:
    from collections import defaultdict
    from typing import Generic, TypeVar

    import torch

    T = TypeVar("T")

    class ConfigurationError(Exception):  # type: ignore[no-redef]
        """A setting that cannot work, in one sentence."""

        def __init__(self, message: str) -> None:
            super().__init__(message)
            self.message = message

        def __str__(self) -> str:
            return self.message

    class FromParams:  # type: ignore[no-redef]
        """Where there is AllenNLP, a class that configs can describe."""

    class Lazy(Generic[T]):  # type: ignore[no-redef]
        """In annotations: what is constructed later, with arguments that are not known yet (see `construct`)."""

    class Registrable(FromParams):  # type: ignore[no-redef]
        """A base class whose subclasses are registered by name."""

        _registry: dict[type, dict[str, type]] = defaultdict(dict)

        @classmethod
        def register(cls, name: str, constructor: str | None = None, exist_ok: bool = False):
            """A decorator that registers a subclass as `name`; AllenNLP's `constructor` is not needed here."""

            def add(subclass: type) -> type:
                known = cls._registry[cls]
                if name in known and not exist_ok:
                    raise ConfigurationError(f"'{name}' is registered already, for {known[name].__name__}.")
                known[name] = subclass
                return subclass

            return add

        @classmethod
        def by_name(cls, name: str) -> type:
            """The class that is registered as `name`."""
            if name not in cls._registry[cls]:
                names = ", ".join(repr(known) for known in cls.list_available())
                raise ConfigurationError(f"'{name}' is no {cls.__name__}; there are {names}.")
            return cls._registry[cls][name]

        @classmethod
        def list_available(cls) -> list[str]:
            return sorted(cls._registry[cls])

    class Activation(torch.nn.Module, Registrable):  # type: ignore[no-redef]
        """torch's activation functions by AllenNLP's names; `Activation.by_name("relu")()` is a module."""

    for _name, _kind in {
        "linear": torch.nn.Identity,
        "swish": torch.nn.SiLU,
        "mish": torch.nn.Mish,
        "relu": torch.nn.ReLU,
        "relu6": torch.nn.ReLU6,
        "elu": torch.nn.ELU,
        "gelu": torch.nn.GELU,
        "prelu": torch.nn.PReLU,
        "leaky_relu": torch.nn.LeakyReLU,
        "hardtanh": torch.nn.Hardtanh,
        "sigmoid": torch.nn.Sigmoid,
        "tanh": torch.nn.Tanh,
        "log_sigmoid": torch.nn.LogSigmoid,
        "softplus": torch.nn.Softplus,
        "softshrink": torch.nn.Softshrink,
        "softsign": torch.nn.Softsign,
        "tanhshrink": torch.nn.Tanhshrink,
        "selu": torch.nn.SELU,
    }.items():
        Activation.register(_name)(_kind)


def construct(part: "Lazy[Any] | Callable[..., Any]", **arguments: Any) -> Any:
    """
    Calls `part(**arguments)`. `part` is AllenNLP's `Lazy` from a config, a class or any function: a program may pass
    `LocalEnergy` or `partial(LabelInteractionEnergy, hidden_dim=50)` to a net.
    """
    return part.construct(**arguments) if isinstance(part, Lazy) else part(**arguments)


def on_demand(package: str, modules: dict[str, str]) -> Callable[[str], Any]:
    """
    Makes the `__getattr__` of a package, which imports names that need AllenNLP on their first use.

    # Parameters

    package : `str`
    modules : `dict[str, str]`
        The module, in the package, of each name.
    """

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        importlib.import_module("seal.plugin")
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return __getattr__


__all__ = [
    "Activation",
    "ConfigurationError",
    "FromParams",
    "Lazy",
    "Registrable",
    "construct",
    "on_demand",
]
