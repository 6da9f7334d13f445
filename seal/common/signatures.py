import inspect
from collections.abc import Callable, Collection
from typing import Any, TypeVar

T = TypeVar("T")


def with_parameters_of(*parents: Callable, without: Collection[str] = ()) -> Callable[[Any], Any]:
    """
    Returns a decorator for a constructor that passes its `**settings` on to `parents`: classes or functions. It adds
    their parameters, but for those of the names `without`, to the constructor's signature, from which `FromParams`
    reads the config keys. Of a name that several have, the first one's parameter counts.
    """

    def extend(constructor: Any) -> Any:
        mine = inspect.signature(constructor)
        found = {name: p for name, p in mine.parameters.items() if p.kind is not p.VAR_KEYWORD}
        for parent in parents:
            for name, p in inspect.signature(parent).parameters.items():
                if p.kind is not p.VAR_KEYWORD and name not in found and name not in without:
                    found[name] = p.replace(kind=p.KEYWORD_ONLY)
        constructor.__signature__ = mine.replace(parameters=list(found.values()))
        return constructor

    return extend


def taken(kind: type[T], settings: dict[str, Any]) -> T:
    """An object of this class, of those `settings` that are parameters of its constructor: they are taken out."""
    return kind(**{name: settings.pop(name) for name in inspect.signature(kind).parameters if name in settings})
