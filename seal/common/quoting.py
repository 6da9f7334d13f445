from typing import Any


def short(value: Any) -> str:
    """A value as it is quoted in a sentence: 60 characters of ASCII at most."""
    # `ascii` also escapes what no output file can hold; a large number has no text at all.
    try:
        text = ascii(value)
    except (RecursionError, ValueError):
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
