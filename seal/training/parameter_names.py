"""Parameters that a config names by regular expressions."""

import re
from collections.abc import Iterable

from allennlp.common.checks import ConfigurationError


def check_found(patterns: Iterable[str], names: Iterable[str], key: str, whose: str) -> None:
    """
    It is an error if one of the patterns is no regular expression, or is found in none of the names. For the message:
    `key`, the config key that has the patterns, and `whose` parameters these are, such as "of the model".
    """
    names = list(names)
    for pattern in patterns:
        try:
            found = any(re.search(pattern, name) for name in names)
        except re.error as error:
            raise ConfigurationError(f"{key}: {pattern!r} is not a regular expression: {error}.") from error
        if not found:
            raise ConfigurationError(f"{key}: {pattern!r} is found in the name of no parameter {whose}.")
