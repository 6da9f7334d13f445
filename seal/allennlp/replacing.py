"""Patches a function: replaces it by another function that may call the original."""

import functools
from collections.abc import Callable
from typing import Any


def replace_once(owner: Any, name: str, replacement: Callable) -> None:
    """
    Turns every call `owner.name(*args, **kwargs)` into `replacement(original, *args, **kwargs)`. A second call with the
    same replacement changes nothing. Several patches may replace one function. The original stays available as
    `__wrapped__`, from which `inspect.signature`, and so `FromParams`, reads the parameters.

    # Parameters

    owner : `Any`
        A module or a class.
    name : `str`
        A function of the module, or a method or class method of the class, but not a static method or property.
    replacement : `Callable`
        It takes the original, then (for a class method) the class, then the arguments of the call.
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
