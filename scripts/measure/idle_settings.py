"""Settings that change nothing in any of the runs that are asked for: a mistake of whoever gave them."""

import json
from typing import Any, Callable, Dict, Iterable, Optional

import _jsonnet

from scripts.measure.configs import not_evaluated, setting_value, settings_of

#: Asks for our settings where there are some; it may find none.
MAY_BE_IDLE = ("tuned",)
#: The text of a method's config with the settings of `--settings`, by name.
Write = Callable[[Dict[str, str]], str]


def idle_setting(
    given: Dict[str, str], writers: Iterable[Dict[str, Write]], family: Optional[str] = None
) -> Optional[str]:
    """
    The first of the settings, as `configs.parse_settings` has them, by which no config changes.

    # Parameters

    writers : `Iterable[Dict[str, Write]]`
        Of each data set, by method.
    family : `str`, optional (default = `None`)
        That of the suites, whose library a value may name.

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


def changes(write: Write, name: str, settings: Dict[str, str], family: Optional[str] = None) -> bool:
    """Whether the config is another one without a setting, or for another value of it."""
    try:
        given = _jsonnet.evaluate_snippet("config", write(settings))
    except RuntimeError as error:
        raise not_evaluated(error) from error
    other = another(setting_value(settings[name], family))
    if other is None:
        return True
    rest = {key: value for key, value in settings.items() if key != name}
    try:
        return any(given != _jsonnet.evaluate_snippet("config", write(more)) for more in (rest, {**rest, name: other}))
    except RuntimeError:
        return True  # The library reads it: it refuses the other one.


def another(value: Any) -> Optional[str]:
    """Another value, in jsonnet; `None` where there is no telling what would be one."""
    if value is None:
        return "1"
    if isinstance(value, bool):
        return json.dumps(not value)
    if isinstance(value, (int, float)):
        return json.dumps(value + 1)
    if isinstance(value, str):
        return json.dumps(value + "_")
    return None
