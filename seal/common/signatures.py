import inspect
from collections.abc import Callable, Collection
from typing import Any


def with_parameters_of(parent: Callable, without: Collection[str] = ()) -> Callable[[Any], Any]:
    """
    Returns a decorator for a constructor that passes its `**settings` on to `parent`. It adds the parameters of
    `parent`, but for those of the names `without`, to the constructor's signature, from which `FromParams` reads the
    config keys.
    """

    def extend(constructor: Any) -> Any:
        mine = inspect.signature(constructor)
        own = {name: p for name, p in mine.parameters.items() if p.kind is not p.VAR_KEYWORD}
        theirs = [
            p.replace(kind=p.KEYWORD_ONLY)
            for name, p in inspect.signature(parent).parameters.items()
            if p.kind is not p.VAR_KEYWORD and name not in own and name not in without
        ]
        constructor.__signature__ = mine.replace(parameters=[*own.values(), *theirs])
        return constructor

    return extend
