from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b

import torch
from torch.nn import functional as F

# Codes are whole numbers of 64 bits, whose sums and products wrap around. Two words have the same one with a
# probability of 2^-63. An odd factor has an inverse.
_FACTOR = 0x5851F42D4C957F2D
_INVERSE = pow(_FACTOR, -1, 2**64) - 2**64
_STEPS = (1, 2, 3, 5, 8, 13)
#: Into how many steps lengths and distances are parted, and of how many shapes words are.
BUCKETS, SHAPES = len(_STEPS) + 1, 5
#: The shape of what is outside a sentence.
SIGN = SHAPES - 1
#: Before the predicate, after it, and around it.
SIDES = 3
#: The words that features name: the first and the last one of a span, those beside it, and those beside the predicate.
OF_PREDICATE = ("predicate_before", "predicate_after")
WORDS = ("first", "last", "before", "after", *OF_PREDICATE)


@lru_cache(maxsize=1 << 17)
def code(word: str) -> int:
    """Equal for equal words, whatever their case, and never 0, which is the code of what is outside a sentence."""
    return int.from_bytes(blake2b(word.lower().encode(), digest_size=8).digest(), "little", signed=True) | 1


@lru_cache(maxsize=1 << 17)
def shape(word: str) -> int:
    """0: in lower case; 1: with a capital; 2: all of it capitals; 3: with a digit; 4: anything else."""
    if any(letter.isdigit() for letter in word):
        return 3
    if word.isupper() and len(word) > 1:
        return 2
    if word[:1].isupper():
        return 1
    return 0 if word[:1].isalpha() else SIGN


def mixed(parts: Sequence[torch.Tensor], start: int) -> torch.Tensor:
    """A code of several codes or numbers in their order."""
    found = torch.full_like(parts[0], start)
    for part in parts:
        found = (found + part + 1) * _FACTOR
        # A product does not carry the upper bits down.
        found = found ^ (found >> 29)
    return found


def looked_up(
    known: torch.Tensor, values: torch.Tensor, codes: torch.Tensor, default: torch.Tensor | int = 0
) -> torch.Tensor:
    """The value of each code: that of the equal one among those that are known, which ascend, or the default."""
    if len(known) == 0:
        return values.new_zeros(codes.shape) + default
    place = torch.searchsorted(known, codes).clamp(max=len(known) - 1)
    return torch.where(known[place] == codes, values[place], default)


class SpanFeatures:
    """
    What is seen of spans in their sentences. Each feature is `(spans,)`.

    # Parameters

    row, first, last : `torch.LongTensor`, `(spans,)`
        The instance of each span, its first and its last token.
    words : `Sequence[Sequence[str]]`
        Those of each instance.
    tokens : `int`
        To which sentences are padded.
    places : `Sequence[int]`
        The token of each instance's predicate; empty where there are none, and spans then stand after it.
    keys : `Sequence[str]`
        What each instance is about; empty where there are none.
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

    def _of_tokens(self, of: Callable[[str], int], outside: int) -> torch.Tensor:
        """`(batch, tokens + 2)`, between what is outside."""
        rows = [[outside, *map(of, row), *[outside] * (self._tokens + 1 - len(row))] for row in self._words]
        return torch.tensor(rows, dtype=torch.long, device=self.row.device)

    @cached_property
    def codes(self) -> torch.Tensor:
        """Of all words, `(batch, tokens + 2)`, as the shapes: 0 for what is outside."""
        return self._of_tokens(code, 0)

    @cached_property
    def shapes(self) -> torch.Tensor:
        return self._of_tokens(shape, SIGN)

    @cached_property
    def side(self) -> torch.Tensor:
        """0: before the predicate; 1: after it; 2: around it."""
        return torch.where(self.last < self.place, 0, torch.where(self.first > self.place, 1, 2))

    @cached_property
    def distance(self) -> torch.Tensor:
        """The side, and how far from the predicate: `SIDES * BUCKETS` values."""
        far = torch.where(self.last < self.place, self.place - self.last, self.first - self.place)
        return self.side * BUCKETS + self._bucket(far)

    @cached_property
    def length(self) -> torch.Tensor:
        """The number of words, `BUCKETS` values."""
        return self._bucket(self.last - self.first + 1)

    def _bucket(self, number: torch.Tensor) -> torch.Tensor:
        return torch.bucketize(number, torch.tensor(_STEPS, device=number.device))

    @cached_property
    def _tokens_of(self) -> dict[str, torch.Tensor]:
        """The places of the words that features name, in `codes` and `shapes`."""
        first, last, place = self.first + 1, self.last + 1, self.place
        beside = {"before": self.first, "after": last + 1, "predicate_before": place, "predicate_after": place + 2}
        return {"first": first, "last": last, **beside}

    def at(self, table: torch.Tensor, names: Sequence[str]) -> torch.Tensor:
        """What a table, `(batch, tokens + 2)`, has at the words that features name: `(names, spans)`."""
        tokens = torch.stack([self._tokens_of[name] for name in names])
        return table.take(self.row * table.shape[1] + tokens)

    def word(self, name: str) -> torch.Tensor:
        """The code of the word that a feature names."""
        return self.at(self.codes, [name])[0]

    @cached_property
    def key(self) -> torch.Tensor:
        """The code of what the instance is about."""
        keys = self._keys or [""] * len(self._words)
        return torch.tensor([code(key) for key in keys], dtype=torch.long, device=self.row.device)[self.row]

    # All words of a span in their order: differences of sums of words' codes, each times a power by its place.

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
        The code of each string of at most `longest` words in the sentences, once for each place where it occurs, and
        the instance of each: `(strings,)` both.
        """
        sums, powers = self._sums, self._powers(_INVERSE)
        numbers = torch.tensor([len(words) for words in self._words], device=self.row.device).unsqueeze(1)
        codes, rows = [sums.new_zeros(0)], [sums.new_zeros(0)]
        for length in range(1, min(longest, self._tokens) + 1):
            of_places = (sums[:, length:] - sums[:, :-length]) * powers[: sums.shape[1] - length]
            # Padding has a code, too: a string that reaches into it is none.
            row, place = (torch.arange(of_places.shape[1], device=sums.device) + length <= numbers).nonzero().unbind(1)
            codes.append(of_places[row, place])
            rows.append(row)
        return torch.cat(codes), torch.cat(rows)
