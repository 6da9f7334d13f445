"""Settings that change nothing in any of the runs that are asked for: a mistake of whoever gave them."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Optional

from scripts.measure.configs import evaluated, not_evaluated, setting_value, settings_of
from scripts.measure.suite import UserError

#: `tuned` asks for settings of ours, which a method need not have.
MAY_BE_IDLE = ("tuned",)
#: Maps the settings of `--settings`, by name, to the text of a method's config.
Write = Callable[[dict[str, str]], str]


def idle_setting(
    given: dict[str, str], writers: Iterable[dict[str, Write]], family: Optional[str] = None
) -> Optional[str]:
    """
    The first of the `given` settings, as `configs.parse_settings` has them, that changes no config; `None` without one.

    # Parameters

    writers : `Iterable[dict[str, Write]]`
        For each data set, the functions that write its configs, by method.
    family : `str`, optional (default = `None`)
        The family of the suites; a value may name its library.

    # Raises

    `UserError` if a config cannot be evaluated with them.
    """
    for key in given:
        whose, _, name = key.rpartition(":")
        if name not in MAY_BE_IDLE and not any(
            changes(write, name, dict(settings_of(method, given)), family)
            for methods in writers
            for method, write in methods.items()
            if whose in ("", method)
        ):
            return key
    return None


def refuse_idle(
    given: dict[str, str], writers: Iterable[dict[str, Write]], trained: str, family: Optional[str] = None
) -> None:
    """
    Refuses an `idle_setting`. `trained` is the end of "changes nothing in what", for the message.

    # Raises

    `UserError` if there is one, or as for `idle_setting`.
    """
    idle = idle_setting(given, writers, family)
    if idle is not None:
        raise UserError(f"--settings: '{idle}' changes nothing in what {trained}; leave it out.")


def changes(write: Write, name: str, settings: dict[str, str], family: Optional[str] = None) -> bool:
    """Whether the config changes without the setting, or with another value of it."""
    try:
        given = evaluated(write(settings))
    except RuntimeError as error:
        raise not_evaluated(error) from error
    other = another(setting_value(settings[name], family))
    if other is None:
        return True
    rest = {key: value for key, value in settings.items() if key != name}
    try:
        return any(given != evaluated(write(more)) for more in (rest, {**rest, name: other}))
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
