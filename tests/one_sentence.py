"""A mistake of a user ends in one sentence."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from seal.registry import ConfigurationError


def message_of(call: Callable, *args: Any, **options: Any) -> str:
    """The sentence in which a call ends, or the iterator that it returns."""
    with pytest.raises(ConfigurationError) as error:
        found = call(*args, **options)
        if isinstance(found, Iterator):
            list(found)
    message = error.value.message
    assert "\n" not in message and message.endswith((".", "?", ".)"))
    return message
