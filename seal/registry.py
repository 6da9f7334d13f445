"""
What the science needs of AllenNLP: `Registrable` and `ConfigurationError`. They are AllenNLP's where AllenNLP is
installed, so that jsonnet configs can name what is registered; elsewhere small stand-ins, so that the modules that
import from here work with torch and numpy alone.
"""

try:
    from allennlp.common import Registrable
    from allennlp.common.checks import ConfigurationError
except ImportError:
    from collections import defaultdict

    class ConfigurationError(Exception):  # type: ignore[no-redef]
        """A setting that cannot work, told in one sentence."""

        def __init__(self, message: str) -> None:
            super().__init__(message)
            self.message = message

        def __str__(self) -> str:
            return self.message

    class Registrable:  # type: ignore[no-redef]
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


__all__ = ["ConfigurationError", "Registrable"]
