"""How AllenNLP is patched: its functions are replaced by others that may call them."""

import functools
from collections.abc import Callable
from typing import Any


def replace_once(owner: Any, name: str, replacement: Callable) -> None:
    """
    Makes every call `owner.name(*args, **kwargs)` a call `replacement(original, *args, **kwargs)`. Done a second time,
    this changes nothing; several patches may replace one function. The original stays reachable as `__wrapped__`, which
    also lets `inspect.signature` (and so `FromParams`) see the original's parameters.

    # Parameters

    owner : `Any`
        A module or a class.
    name : `str`
        A function of the module, or a method or class method of the class, but not a static method or property.
    replacement : `Callable`
        Its first parameter is the original; the others are those of the original (of a class method, also the class).
    """
    found = vars(owner).get(name)
    of_class = isinstance(found, classmethod)
    original = found.__func__ if of_class else getattr(owner, name)
    done, this = getattr(original, "patched_by_seal", ()), f"{replacement.__module__}.{replacement.__qualname__}"
    if this in done:
        return

    @functools.wraps(original)
    def patched(*args: Any, **kwargs: Any) -> Any:
        return replacement(original, *args, **kwargs)

    vars(patched)["patched_by_seal"] = (*done, this)
    setattr(owner, name, classmethod(patched) if of_class else patched)
