"""Checks of settings with uniform error messages, and functions that pass settings to constructors."""

import difflib
import inspect
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from operator import ge, gt, le, lt
from typing import Any, Optional, TypeVar

from seal.registry import ConfigurationError

T = TypeVar("T")


def check_range(
    key: str,
    value: Optional[float],
    *,
    least: Optional[float] = None,
    above: Optional[float] = None,
    most: Optional[float] = None,
    below: Optional[float] = None,
) -> None:
    """
    Checks that a number is finite and in a range.

    # Parameters

    key : `str`
        The key of the setting, for the message.
    value : `float`, optional
        `None`, which stands for a missing setting, is accepted.
    least, above : `float`, optional
        The lower end: the number must be at least `least`, or above `above`.
    most, below : `float`, optional
        The upper end: the number must be at most `most`, or below `below`.

    # Raises

    `ConfigurationError`: `"sampler.num_samples must be at least 1, found 0."`
    """
    if value is None:
        return
    ends = (("at least", least, ge), ("above", above, gt), ("at most", most, le), ("below", below, lt))
    limits = [(name, end, holds) for name, end, holds in ends if end is not None]
    finite = math.isfinite(value)
    if not finite or not all(holds(value, end) for _, end, holds in limits):
        wanted = [] if finite else ["finite"]
        wanted += [f"{name} {end}" for name, end, _ in limits]
        raise ConfigurationError(f"{key} must be {_listed(wanted, 'and')}, found {value}.")


def check_whole(key: str, value: Any, least: int) -> None:
    """
    Checks that a value is a whole number of at least `least`.

    # Raises

    `ConfigurationError`: `"structure.num_candidates must be a whole number of at least 2, found 2.5."`
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    check_that(is_whole and value >= least, key, f"a whole number of at least {least}", value)


def check_choice(key: str, value: Any, choices: Collection[Optional[str]]) -> None:
    """
    Checks that a value is one of the choices. The message writes `None` as `null`.

    # Raises

    `ConfigurationError`: `"output_space.encoding must be 'BIO', 'BIOES' or null, found 'IO'."`
    """
    if value not in choices:
        named = ["null" if choice is None else repr(choice) for choice in choices]
        raise ConfigurationError(f"{key} must be {_listed(named, 'or')}, found {value!r}.")


def check_that(holds: bool, key: str, wanted: str, found: Any) -> None:
    """
    Raises an error unless `holds`. `wanted` describes the required value.

    # Raises

    `ConfigurationError`: `"'words' must be a list of strings, found 'a b'."`
    """
    if not holds:
        raise ConfigurationError(f"{key} must be {wanted}, found {abbreviate(found)}.")


def suggest(wrong: Any, known: Iterable[Any]) -> str:
    """The end of a message: `; did you mean "x"?`, or the known names if none is similar and there are at most 20."""
    known = sorted(map(str, known))
    close = difflib.get_close_matches(str(wrong), known, n=1)
    if close:
        return f'; did you mean "{close[0]}"?'
    return f"; choose from: {', '.join(known)}" if 0 < len(known) <= 20 else ""


def require(value: Optional[T], what: str) -> T:
    """
    Returns the value, which must not be `None`.

    # Raises

    `ConfigurationError` if it is `None`: `"gold is needed here, and is not given."`
    """
    if value is None:
        raise ConfigurationError(f"{what} is needed here, and is not given.")
    return value


@contextmanager
def error_prefix(key: str) -> Iterator[None]:
    """A context that adds `key.` to the message of a `ConfigurationError`, as in `model.task_loss: ...`."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{key}.{error.message}") from error.__cause__


def whole_number(text: str) -> Optional[int]:
    """
    Parses a whole number of at most 18 digits 0 to 9; `None` for any other text. `str.isdigit` also accepts texts that
    `int` refuses, such as `²` or thousands of digits.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def abbreviate(value: Any) -> str:
    """Quotes a value for a message, in at most 60 ASCII characters."""
    # `ascii` also escapes characters that no output file can hold. Python prints no integer of very many digits.
    try:
        text = ascii(value)
    except (RecursionError, ValueError):
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def keys_of(record: dict[str, Any]) -> str:
    """The first five keys, for messages."""
    return ", ".join(abbreviate(key) for key in list(record)[:5]) or "no key"


def listed(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more there are, for messages."""
    return ", ".join(map(abbreviate, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def counted(number: int, noun: str) -> str:
    """`1 column`, `2 columns`"""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(parts: list[str], word: str) -> str:
    """`a, b and c`"""
    *others, last = parts
    return f"{', '.join(others)} {word} {last}" if others else last


def with_parameters_of(*parents: Callable, without: Collection[str] = ()) -> Callable[[Any], Any]:
    """
    Returns a decorator for a constructor that passes its `**settings` on to `parents`: classes or functions. It adds
    their parameters, but for those of the names `without`, to the constructor's signature, from which `FromParams`
    reads the config keys. Of a name that several have, the first one's parameter counts.
    """

    def extend(constructor: Any) -> Any:
        signature = inspect.signature(constructor)
        parameters = {name: p for name, p in signature.parameters.items() if p.kind is not p.VAR_KEYWORD}
        for parent in parents:
            for name, p in inspect.signature(parent).parameters.items():
                if p.kind is not p.VAR_KEYWORD and name not in parameters and name not in without:
                    parameters[name] = p.replace(kind=p.KEYWORD_ONLY)
        constructor.__signature__ = signature.replace(parameters=list(parameters.values()))
        return constructor

    return extend


def pop_arguments(kind: type[T], settings: dict[str, Any]) -> T:
    """
    Constructs `kind` from the `settings` that are parameters of its constructor, and removes them from `settings`.
    """
    return kind(**{name: settings.pop(name) for name in inspect.signature(kind).parameters if name in settings})
