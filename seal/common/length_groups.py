"""
Groups of sentences that go through a model together: of similar length, and bounded in padded size.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

# What a group may have, padding included; a single sentence may have more. Ordinary groups are far below these: 64
# sentences of 40 words have 2,560 words. Without a limit, one line of a megabyte pads all others of its batch to its
# length. Networks keep a few thousand bytes for each word; of characters, those that read them; and of pairs of words,
# those with attention.
#: Words.
MOST_WORDS = 2**14
#: Characters, as if each word were as long as the longest.
MOST_CHARACTERS = 2**19
#: Pairs of words of one sentence.
MOST_PAIRS = 2**22


class Size(NamedTuple):
    """
    The size of a sentence: its number of words, the number of characters of the longest one, and the number of pieces
    into which an encoder cuts the sentence, 0 where it reads words.
    """

    words: int
    longest_word: int
    pieces: int = 0


def size_of(words: Sequence[str]) -> Size:
    return Size(len(words), max(map(len, words), default=0))


def length_groups(sizes: Sequence[Size], most_rows: int) -> Iterator[list[int]]:
    """
    Divides sentences into groups of similar length.

    # Parameters

    sizes : `Sequence[Size]`
        Those of the sentences.
    most_rows : `int`
        The most sentences of a group.

    # Returns

    `Iterator[list[int]]`
        Indices into `sizes` for each group, in order of length, in pieces where there are any; every sentence is in one
        group.
    """
    group: list[int] = []
    most_words = longest_word = 0
    for place in sorted(range(len(sizes)), key=lambda place: (sizes[place].pieces, sizes[place].words)):
        size = sizes[place]
        most_words, longest_word = max(most_words, size.words), max(longest_word, size.longest_word)
        rows, words = len(group) + 1, most_words
        fits = (
            rows <= most_rows
            and rows * words <= MOST_WORDS
            and rows * words * longest_word <= MOST_CHARACTERS
            and rows * words * words <= MOST_PAIRS
        )
        if group and not fits:
            yield group
            group, most_words, longest_word = [], size.words, size.longest_word
        group.append(place)
    if group:
        yield group
