"""Groups sentences of similar length into batches of bounded padded size."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

# The limits of a group, padding included; a single sentence may exceed them. Ordinary groups are far below: 64
# sentences of 40 words have 2,560 words. Without limits, one line of a megabyte pads all others of its batch to its
# length. Networks need a few thousand bytes per word; character encoders per character; attention per pair of words.
#: Words, or word pieces if an encoder reads them and they are more.
MOST_WORDS = 2**14
#: Characters: the number of words times the length of the longest word.
MOST_CHARACTERS = 2**19
#: Pairs of words, or of word pieces, within sentences.
MOST_PAIRS = 2**22


class Size(NamedTuple):
    """
    The size of a sentence: its number of words, the number of characters of the longest word, and the number of pieces
    that the encoder reads; 0 if it reads words.
    """

    words: int
    longest_word: int
    pieces: int = 0


def pieces_of(padding_lengths: Mapping[str, int]) -> int:
    """The number of pieces of a sentence, from the padding lengths of its indexed text; 0 if it has no pieces."""
    return max((length for name, length in padding_lengths.items() if name.endswith("___token_ids")), default=0)


def size_of(words: Sequence[str]) -> Size:
    return Size(len(words), max(map(len, words), default=0))


def length_groups(sizes: Sequence[Size], most_rows: int) -> Iterator[list[int]]:
    """
    Divides sentences into groups of similar length.

    # Parameters

    sizes : `Sequence[Size]`
        The sizes of the sentences.
    most_rows : `int`
        The most sentences of a group.

    # Returns

    `Iterator[list[int]]`
        The indices into `sizes` of each group, sorted by length, in pieces if there are any. Every sentence is in one
        group.
    """
    group: list[int] = []
    most_words = most_pieces = longest_word = 0
    for place in sorted(range(len(sizes)), key=lambda place: (sizes[place].pieces, sizes[place].words)):
        size = sizes[place]
        most_words, longest_word = max(most_words, size.words), max(longest_word, size.longest_word)
        most_pieces = max(most_pieces, size.pieces)
        rows, length = len(group) + 1, max(most_words, most_pieces)
        fits = (
            rows <= most_rows
            and rows * length <= MOST_WORDS
            and rows * most_words * longest_word <= MOST_CHARACTERS
            and rows * length * length <= MOST_PAIRS
        )
        if group and not fits:
            yield group
            group, most_words, most_pieces, longest_word = [], size.words, size.pieces, size.longest_word
        group.append(place)
    if group:
        yield group
