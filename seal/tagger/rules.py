"""Constraints as objects and as settings, for the files of a tagger."""

import inspect
from collections.abc import Mapping
from typing import Any, cast

from seal.common.setting_checks import abbreviate
from seal.constraints import Constraint
from seal.registry import ConfigurationError


def constraint_of(given: Constraint | dict, place: int) -> Constraint:
    if isinstance(given, Constraint):
        return given
    options = dict(given) if isinstance(given, Mapping) else {}
    name = options.pop("type", None)
    known = Constraint.list_available()
    if name not in known:
        raise ConfigurationError(f"constraints[{place}]: {abbreviate(name)} is none of the types {', '.join(known)}.")
    try:
        return cast(Any, Constraint.by_name(name))(**options)
    except TypeError as error:
        raise ConfigurationError(f"constraints[{place}]: {error}.") from error


def settings_of(constraint: Constraint) -> dict[str, Any]:
    """The settings from which `constraint_of` makes an equal constraint."""
    kinds: dict[Any, str] = {Constraint.by_name(name): name for name in Constraint.list_available()}
    options = list(inspect.signature(type(constraint)).parameters)
    if type(constraint) not in kinds or not all(hasattr(constraint, name) for name in options):
        raise ConfigurationError(
            f"save: a constraint of the class {type(constraint).__name__} is not registered, or does not keep its "
            "settings; see docs/extending.md."
        )
    return {"type": kinds[type(constraint)], **{name: getattr(constraint, name) for name in options}}
