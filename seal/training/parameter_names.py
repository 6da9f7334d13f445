"""Parameters that a config names by regular expressions."""

import re
from collections.abc import Iterable

from allennlp.common.checks import ConfigurationError


def check_found(patterns: Iterable[str], names: Iterable[str], key: str, whose: str) -> None:
    """
    Checks that each pattern is found in the name of a parameter.

    # Parameters

    patterns : `Iterable[str]`
        Regular expressions.
    names : `Iterable[str]`
        The names of the parameters to search.
    key : `str`
        The config key that has the patterns; for the message.
    whose : `str`
        Which parameters these are, such as `"of the model"`; for the message.

    # Raises

    `ConfigurationError` if a pattern is not a regular expression, or is found in none of the names.
    """
    names = list(names)
    for pattern in patterns:
        try:
            found = any(re.search(pattern, name) for name in names)
        except re.error as error:
            raise ConfigurationError(f"{key}: {pattern!r} is not a regular expression: {error}.") from error
        if not found:
            raise ConfigurationError(f"{key}: {pattern!r} is found in the name of no parameter {whose}.")
