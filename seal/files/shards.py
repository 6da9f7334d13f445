from typing import NamedTuple

from seal.common.setting_checks import whole_number


class Shard(NamedTuple):
    """
    One of `parts` parts of a file's lines, in their order: together they have every line once.

    # Parameters

    number : `int`
        From 1 to `parts`.
    parts : `int`
    """

    number: int
    parts: int

    def lines(self, total: int) -> range:
        """The indices, from 0, of its lines among `total`. The sizes of shards differ by one line at most."""
        return range(total * (self.number - 1) // self.parts, total * self.number // self.parts)


def shard_of(text: str) -> Shard:
    """The shard that is written as `2/8`, the second of eight; a `ValueError` where the text names none."""
    number, parts = (whole_number(part) for part in text.partition("/")[::2])
    if number is not None and parts is not None and 1 <= number <= parts:
        return Shard(number, parts)
    raise ValueError(f"expected the number of a part and of all parts, such as 1/8 or 8/8, found {text!r}")
