"""Sparse features of spans in their sentences: words as hash codes, word shapes, lengths and distances."""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b

import torch
from torch.nn import functional as F

# Codes are 64-bit integers, whose sums and products wrap around. Two words have the same code with a probability of
# 2^-63. An odd factor has an inverse modulo 2^64.
_FACTOR = 0x5851F42D4C957F2D
_INVERSE = pow(_FACTOR, -1, 2**64) - 2**64
_STEPS = (1, 2, 3, 5, 8, 13)
#: The numbers of buckets of lengths and distances, and of shapes of words.
BUCKETS, SHAPES = len(_STEPS) + 1, 5
#: The shape of signs, and of places outside a sentence.
SIGN = SHAPES - 1
#: The number of sides of a predicate: before it, after it, around it.
SIDES = 3
#: The names of words: the words beside the predicate; the first and last word of a span, and the words beside it.
OF_PREDICATE = ("predicate_before", "predicate_after")
WORDS = ("first", "last", "before", "after", *OF_PREDICATE)


@lru_cache(maxsize=1 << 17)
def code(word: str) -> int:
    """A hash of the word in lower case. It is odd; 0 is the code of places outside a sentence."""
    return int.from_bytes(blake2b(word.lower().encode(), digest_size=8).digest(), "little", signed=True) | 1


@lru_cache(maxsize=1 << 17)
def shape(word: str) -> int:
    """0: lower case; 1: begins with a capital; 2: all capitals; 3: has a digit; 4: anything else (`SIGN`)."""
    if any(letter.isdigit() for letter in word):
        return 3
    if word.isupper() and len(word) > 1:
        return 2
    if word[:1].isupper():
        return 1
    return 0 if word[:1].isalpha() else SIGN


def combined_hash(parts: Sequence[torch.Tensor], start: int) -> torch.Tensor:
    """A hash of several codes or numbers in their order, of their shape; `start` is its seed."""
    mixed_code = torch.full_like(parts[0], start)
    for part in parts:
        mixed_code = (mixed_code + part + 1) * _FACTOR
        # A product does not carry the upper bits down.
        mixed_code = mixed_code ^ (mixed_code >> 29)
    return mixed_code


def lookup(
    known: torch.Tensor, values: torch.Tensor, codes: torch.Tensor, default: torch.Tensor | int = 0
) -> torch.Tensor:
    """
    Looks up codes in a table with the keys `known`, ascending, and their `values`, `(size,)` each. Returns the value of
    each code, `default` for unknown ones, in the shape of `codes`.
    """
    if len(known) == 0:
        return values.new_zeros(codes.shape) + default
    place = torch.searchsorted(known, codes).clamp(max=len(known) - 1)
    return torch.where(known[place] == codes, values[place], default)


class SpanFeatures:
    """
    Features of spans in their sentences. Each feature is `(spans,)`.

    # Parameters

    row, first, last : `torch.LongTensor`, `(spans,)`
        The instance of each span, its first and its last token.
    words : `Sequence[Sequence[str]]`
        The words of each instance.
    tokens : `int`
        The length to which sentences are padded.
    places : `Sequence[int]`
        The token of each instance's predicate. Empty without predicates; all spans are then on the side 1, after it.
    keys : `Sequence[str]`
        The lemma of each instance's predicate; may be empty.
    """

    def __init__(
        self,
        row: torch.Tensor,
        first: torch.Tensor,
        last: torch.Tensor,
        words: Sequence[Sequence[str]],
        tokens: int,
        places: Sequence[int] = (),
        keys: Sequence[str] = (),
    ) -> None:
        self.row, self.first, self.last = row, first, last
        self._words, self._tokens, self._keys = words, tokens, keys
        self.place = torch.tensor(places, device=row.device)[row] if places else torch.full_like(row, -1)

    def _of_tokens(self, number_of: Callable[[str], int], outside: int) -> torch.Tensor:
        """A number for each word, `(batch, tokens + 2)`: `outside` before a sentence, behind it, and at padding."""
        rows = [[outside, *map(number_of, row), *[outside] * (self._tokens + 1 - len(row))] for row in self._words]
        return torch.tensor(rows, dtype=torch.long, device=self.row.device)

    @cached_property
    def codes(self) -> torch.Tensor:
        """The code of each word, `(batch, tokens + 2)`; 0 outside the sentence."""
        return self._of_tokens(code, 0)

    @cached_property
    def shapes(self) -> torch.Tensor:
        """The shape of each word, `(batch, tokens + 2)`; `SIGN` outside the sentence."""
        return self._of_tokens(shape, SIGN)

    @cached_property
    def side(self) -> torch.Tensor:
        """0: before the predicate; 1: after it; 2: around it."""
        return torch.where(self.last < self.place, 0, torch.where(self.first > self.place, 1, 2))

    @cached_property
    def distance(self) -> torch.Tensor:
        """The side and the bucket of the distance to the predicate, 0 to `SIDES * BUCKETS - 1`."""
        distance = torch.where(self.last < self.place, self.place - self.last, self.first - self.place)
        return self.side * BUCKETS + self._bucket(distance)

    @cached_property
    def length(self) -> torch.Tensor:
        """The bucket of the number of words, 0 to `BUCKETS - 1`."""
        return self._bucket(self.last - self.first + 1)

    def _bucket(self, number: torch.Tensor) -> torch.Tensor:
        return torch.bucketize(number, torch.tensor(_STEPS, device=number.device))

    @cached_property
    def _tokens_of(self) -> dict[str, torch.Tensor]:
        """The column in `codes` and `shapes` of each name in `WORDS`."""
        first, last, place = self.first + 1, self.last + 1, self.place
        beside = {"before": self.first, "after": last + 1, "predicate_before": place, "predicate_after": place + 2}
        return {"first": first, "last": last, **beside}

    def at(self, table: torch.Tensor, names: Sequence[str]) -> torch.Tensor:
        """The entries of a table, `(batch, tokens + 2)`, at the words of these names: `(names, spans)`."""
        tokens = torch.stack([self._tokens_of[name] for name in names])
        return table.take(self.row * table.shape[1] + tokens)

    def word(self, name: str) -> torch.Tensor:
        """The code of the word of this name, one of `WORDS`."""
        return self.at(self.codes, [name])[0]

    @cached_property
    def key(self) -> torch.Tensor:
        """The code of the predicate's lemma."""
        keys = self._keys or [""] * len(self._words)
        return torch.tensor([code(key) for key in keys], dtype=torch.long, device=self.row.device)[self.row]

    # A rolling hash of all words of a span: the difference of two prefix sums of `code * _FACTOR^place`, shifted to 0.

    @cached_property
    def _sums(self) -> torch.Tensor:
        words = self.codes[:, 1:-1]
        return F.pad((words * self._powers(_FACTOR)[: words.shape[1]]).cumsum(dim=1), (1, 0))

    def _powers(self, base: int) -> torch.Tensor:
        return torch.tensor([1] + [base] * self._tokens, device=self.row.device).cumprod(dim=0)

    @cached_property
    def string(self) -> torch.Tensor:
        """The code of all words of a span in their order."""
        sums, row = self._sums, self.row
        return (sums[row, self.last + 1] - sums[row, self.first]) * self._powers(_INVERSE)[self.first]

    def strings(self, longest: int) -> tuple[torch.Tensor, torch.Tensor]:
        """
        The code of each substring of 1 to `longest` words of the sentences, repeated once per occurrence, and its
        instance: `(strings,)` both.
        """
        sums, powers = self._sums, self._powers(_INVERSE)
        numbers = torch.tensor([len(words) for words in self._words], device=self.row.device).unsqueeze(1)
        codes, rows = [sums.new_zeros(0)], [sums.new_zeros(0)]
        for length in range(1, min(longest, self._tokens) + 1):
            string_codes = (sums[:, length:] - sums[:, :-length]) * powers[: sums.shape[1] - length]
            # Strings that reach into padding are left out.
            starts = torch.arange(string_codes.shape[1], device=sums.device)
            row, place = (starts + length <= numbers).nonzero().unbind(1)
            codes.append(string_codes[row, place])
            rows.append(row)
        return torch.cat(codes), torch.cat(rows)
