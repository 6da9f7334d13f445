import pytest

from seal.common.quoting import short


@pytest.mark.parametrize(
    "value, text",
    [
        ("é\udc80", "'\\xe9\\udc80'"),
        ("a" * 58, "'" + "a" * 58 + "'"),
        ("a" * 59, "'" + "a" * 56 + "..."),
        (10**6000, "a value of type int"),
    ],
    ids=["ascii", "60", "61", "large"],
)
def test_60_characters_of_ascii(value, text):
    assert short(value) == text and len(short(value)) <= 60


def test_what_is_nested_too_deeply():
    value = []
    for _ in range(100_000):
        value = [value]
    assert short(value) == "a value of type list"
    while value:  # Otherwise its deallocation recurses as deeply.
        value = value.pop()
