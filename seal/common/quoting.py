from typing import Any


def short(value: Any) -> str:
    """A value as it is quoted in a message: at most 60 ASCII characters."""
    # `ascii` also escapes characters that no output file can hold. Python prints no integer of very many digits.
    try:
        text = ascii(value)
    except (RecursionError, ValueError):
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
