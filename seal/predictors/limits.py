"""
Limits for one line of input, and notes on standard error while many lines are predicted.
"""

import logging
import time
from collections.abc import Iterator, Sequence

from allennlp.common.checks import ConfigurationError

from seal.common.length_groups import Size, length_groups, size_of

logger = logging.getLogger(__name__)

#: The most words of a sentence, unless the argument `max_words` of the predictor says otherwise.
MAX_WORDS = 10_000
#: The most characters of a sentence, also as if each of its words were as long as the longest.
MAX_CHARACTERS = 2**20
#: After as many seconds without a record, and again each time they pass, standard error tells how far a batch is.
SECONDS_BETWEEN_NOTES = 10.0


def check_characters(text: str) -> None:
    """It is an error if a text is too long to be split into words."""
    if len(text) > MAX_CHARACTERS:
        raise ConfigurationError(
            f"the sentence has {len(text):,} characters, and at most {MAX_CHARACTERS:,} are read; split it."
        )


def check_words(words: Sequence[str], max_words: int) -> None:
    """It is an error if a sentence has more than `max_words` words, or a word is too long beside their number."""
    size = size_of(words)
    if size.words > max_words:
        raise ConfigurationError(
            f"the sentence has {size.words:,} words, and at most {max_words:,} are read; split it, or raise the "
            "predictor's max_words."
        )
    if size.words * size.longest_word > MAX_CHARACTERS:
        raise ConfigurationError(
            f"the sentence has {size.words:,} words, the longest of {size.longest_word:,} characters, and the product "
            f"of the two may be at most {MAX_CHARACTERS:,}; split the sentence, or shorten the word."
        )


def noted_groups(sizes: Sequence[Size], most_rows: int, what: str) -> Iterator[list[int]]:
    """`length_groups`, with a note on standard error of how many of them are done wherever that takes long."""
    done, start = 0, time.monotonic()
    noted = start
    for group in length_groups(sizes, most_rows):
        yield group
        done += len(group)
        now = time.monotonic()
        if now - noted > SECONDS_BETWEEN_NOTES and done < len(sizes):
            logger.warning("%d of %d %s are done after %.0f s", done, len(sizes), what, now - start)
            noted = now
