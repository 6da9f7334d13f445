from typing import NamedTuple


class Shard(NamedTuple):
    """
    One of `count` parts of a file's lines, in their order: together they have every line once.

    # Parameters

    number : `int`
        From 1 to `count`.
    count : `int`
    """

    number: int
    count: int

    def lines(self, total: int) -> range:
        """The indices, from 0, of its lines among `total`. The sizes of shards differ by one line at most."""
        return range(total * (self.number - 1) // self.count, total * self.number // self.count)


def shard_of(text: str) -> Shard:
    """
    The shard that is written as `2/8`, the second of eight.

    # Raises

    `ValueError` where the text names none.
    """
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return Shard(int(number), int(count))
    raise ValueError(f"expected the number of a part and of all parts, such as 1/8 or 8/8, found {text!r}")
