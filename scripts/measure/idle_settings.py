"""Settings that change nothing in any of the runs that are asked for: a mistake of whoever gave them."""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Optional

from scripts.measure.configs import evaluate_together, evaluated, not_evaluated, setting_value, settings_of
from scripts.measure.suite import UserError

#: `tuned` asks for settings of ours, which a method need not have.
MAY_BE_IDLE = ("tuned",)
#: Maps the settings of `--settings`, by name, to the text of a method's config.
Write = Callable[[dict[str, str]], str]


def idle_setting(
    given: dict[str, str],
    writers: Iterable[dict[str, Write]],
    family: Optional[str] = None,
    read: Callable[[str], bool] = lambda key: False,
) -> Optional[str]:
    """
    The first of the `given` settings, as `configs.parse_settings` has them, that changes no config; `None` without one.

    `writers`: for each data set, the functions that write its configs, by method. `family`: the family of the suites; a
    value may name its library. `read`: whether a setting is known to change a config; the configs of all others are
    compared. Raises `UserError` if a config cannot be evaluated with them.
    """
    asked = [key for key in given if key.rpartition(":")[2] not in MAY_BE_IDLE and not read(key)]
    where = {key: _places(key, given, writers) for key in asked}
    # In nearly all cases the first place tells.
    first = [place for places in where.values() for place in places[:1]]
    evaluate_together(source for place in first for source in _written(*place, family))
    for key, places in where.items():
        if not any(changes(*place, family) for place in places):
            return key
    return None


def _places(
    key: str, given: dict[str, str], writers: Iterable[dict[str, Write]]
) -> list[tuple[Write, str, dict[str, str]]]:
    """Of each config that the setting may change: how it is written, the setting's name, and all its settings."""
    whose, _, name = key.rpartition(":")
    return [
        (write, name, dict(settings_of(method, given)))
        for methods in writers
        for method, write in methods.items()
        if whose in ("", method)
    ]


def _written(write: Write, name: str, settings: dict[str, str], family: Optional[str]) -> list[str]:
    """The configs that `changes` compares, as far as they can be written."""
    written = []
    with suppress(UserError):
        for compared in (settings, *_others(name, settings, family)):
            written.append(write(compared))
    return written


def _others(name: str, settings: dict[str, str], family: Optional[str]) -> list[dict[str, str]]:
    """The settings without the one of that name, and with another value of it; none where none can be made up."""
    other = another(setting_value(settings[name], family))
    rest = {key: value for key, value in settings.items() if key != name}
    return [] if other is None else [rest, {**rest, name: other}]


def refuse_idle(
    given: dict[str, str],
    writers: Iterable[dict[str, Write]],
    trained: str,
    family: Optional[str] = None,
    read: Callable[[str], bool] = lambda key: False,
) -> None:
    """
    Refuses an `idle_setting`. `trained` is the end of "changes nothing in what", for the message. Raises `UserError` if
    there is one, or as for `idle_setting`.
    """
    idle = idle_setting(given, writers, family, read)
    if idle is not None:
        raise UserError(f"--settings: '{idle}' changes nothing in what {trained}; leave it out.")


def changes(write: Write, name: str, settings: dict[str, str], family: Optional[str] = None) -> bool:
    """Whether the config changes without the setting, or with another value of it."""
    try:
        given = evaluated(write(settings))
    except RuntimeError as error:
        raise not_evaluated(error) from error
    others = _others(name, settings, family)
    try:
        return not others or any(given != evaluated(write(more)) for more in others)
    except (RuntimeError, UserError):
        return True  # The library reads the setting, since it refuses the other value.


def another(value: Any) -> Optional[str]:
    """Another value of the same kind, in jsonnet; `None` for kinds where none can be made up."""
    if value is None:
        return "1"
    if isinstance(value, bool):
        return json.dumps(not value)
    if isinstance(value, (int, float)):
        return json.dumps(value + 1)
    if isinstance(value, str):
        return json.dumps(value + "_")
    return None
