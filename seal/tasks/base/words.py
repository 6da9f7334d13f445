"""Splits raw text into words with their offsets, and joins words into text."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from allennlp.data import Vocabulary

from seal.common.tag_encodings import Span
from seal.common.vocabularies import WRITTEN, names_of
from seal.lazy_imports import lazy
from seal.tasks.base.sentence_splitting import sentences
from seal.tasks.base.token_forms import WrittenForms

if TYPE_CHECKING:
    from spacy.tokenizer import Tokenizer

# spaCy's tokenizer splits a run without white space character by character, in time that grows with the square of
# its length: 20,000 brackets take a minute. A longer run than this, which no English word is, becomes one word.
_LONGEST_RUN = 1000
_LONG_RUN = re.compile(rf"\S{{{_LONGEST_RUN + 1},}}")
_RUN = re.compile(r"\S+")
# A word such as `state-of-the-art`.
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
# The most characters of a hyphenated word or a sign that is joined again after splitting.
_LONGEST_JOINED = 60

# spaCy's tokenizer caches every string and its tokens and never frees them. To bound the memory, it is rebuilt after
# this many texts, in a quarter of a second. spaCy's own `memory_zone` makes it ten times slower.
_TEXTS_PER_TOKENIZER = 200_000


class WordSequence(NamedTuple):
    """
    A text and its words.

    # Parameters

    text : `str`
    words : `list[str]`
        `text[start:end]` of each offset.
    offsets : `list[list[int]]`
        `[start, end)` of each word in `text`, in characters (Unicode code points).
    """

    text: str
    words: list[str]
    offsets: list[list[int]]

    def between(self, first: int, last: int) -> str:
        """The text from word `first` to word `last`, inclusive."""
        return self.text[self.offsets[first][0] : self.offsets[last][1]]

    def inside(self, text: str, start: int) -> "WordSequence":
        """The same words with their offsets in a longer `text`, in which this text begins at `start`."""
        return WordSequence(text, self.words, [[begin + start, end + start] for begin, end in self.offsets])

    def spans(self, spans: Iterable[Span], name: str = "label") -> list[dict[str, Any]]:
        """The spans as entries of a record: the label under the key `name`, `start`, `end` (inclusive) and `text`."""
        return [
            {name: label, "start": start, "end": end, "text": self.between(start, end)} for label, start, end in spans
        ]


class WordSplitter:
    """The base class of the splitters, which split raw text into words."""

    #: Whether `sentences` can split a text into several sentences.
    finds_sentences = False

    def sentences(self, text: str) -> list[tuple[int, int]]:
        """The offsets `[start, end)` of the sentences of a text, at least one."""
        return [(0, len(text))]

    def split(self, text: str) -> WordSequence:
        """Splits a text of valid Unicode (spaCy refuses lone surrogates) into words without white space."""
        sequence = WordSequence(text, [], [])
        start = 0
        for run in _LONG_RUN.finditer(text):
            self._add(sequence, text[start : run.start()], start)
            sequence.words.append(run.group())
            sequence.offsets.append([run.start(), run.end()])
            start = run.end()
        self._add(sequence, text[start:], start)
        return sequence

    def _add(self, sequence: WordSequence, part: str, start: int) -> None:
        for begin, end, word in self._words(part):
            sequence.words.append(word)
            sequence.offsets.append([start + begin, start + end])

    def _words(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yields `(begin, end, word)` for each word of a text without long runs."""
        raise NotImplementedError


class EnglishSplitter(WordSplitter):
    """
    Splits English text into words as the Penn Treebank does (`did n't`, `boy 's`, punctuation separate), by the rules
    of spaCy. They come with spaCy and need no spaCy model. As in CoNLL-2012, hyphenated words are split (`well -
    known`).

    ```python
    EnglishSplitter().split("She didn't.").offsets  # [[0, 3], [4, 7], [7, 10], [10, 11]]
    ```
    """

    finds_sentences = True

    def __init__(self) -> None:
        self._tokenizer: Optional["Tokenizer"] = None
        self._texts = 0

    def sentences(self, text: str) -> list[tuple[int, int]]:
        return sentences(text)

    def _words(self, text: str) -> Iterator[tuple[int, int, str]]:
        if self._tokenizer is None or self._texts >= _TEXTS_PER_TOKENIZER:
            self._tokenizer, self._texts = _english_tokenizer(), 0
        self._texts += 1
        tokens = (token for token in self._tokenizer(text) if not token.text.isspace())
        return ((token.idx, token.idx + len(token.text), token.text) for token in tokens)


def _english_tokenizer() -> "Tokenizer":
    # spaCy's command line and thinc's HDF5 files take half the time of its import.
    with lazy("h5py", "spacy.cli"):
        import spacy
    return spacy.blank("en").tokenizer


class TweetSplitter(WordSplitter):
    """
    Splits tweets by the rules of NLTK's `TweetTokenizer`: hashtags, names (`@somebody`), addresses and emoticons stay
    whole. Every word is a substring of the text: repeated letters and entities (`&amp;`) are unchanged.
    """

    def _words(self, text: str) -> Iterator[tuple[int, int, str]]:
        pattern = _tweet_words()
        # Each run is matched separately, since NLTK's pattern of an ellipsis allows blanks between the dots.
        for run in _RUN.finditer(text):
            for match in pattern.finditer(run.group()):
                yield run.start() + match.start(), run.start() + match.end(), match.group()


@lru_cache(maxsize=None)
def _tweet_words() -> Any:
    """NLTK's pattern of a word of a tweet, compiled at the first call because NLTK is slow to import."""
    from nltk.tokenize.casual import TweetTokenizer

    return TweetTokenizer().WORD_RE


class WhiteSpaceSplitter(WordSplitter):
    """Splits text that is already tokenized, at white space."""

    def _words(self, text: str) -> Iterator[tuple[int, int, str]]:
        return ((run.start(), run.end(), run.group()) for run in _RUN.finditer(text))


class SplitAsTrained:
    """
    Splits raw text into words and rewrites them in the forms of the training data, such as `-LRB-` for a bracket.

    # Parameters

    splitter : `WordSplitter`
    vocab : `Vocabulary`
        The model's vocabulary. Its namespace `WRITTEN` holds the forms; an old model without it leaves words unchanged.
    """

    def __init__(self, splitter: WordSplitter, vocab: Vocabulary) -> None:
        self._splitter = splitter
        self._forms = WrittenForms(names_of(vocab, WRITTEN) if WRITTEN in vocab.get_namespaces() else ())

    def __call__(self, text: str) -> tuple[WordSequence, list[str]]:
        """The words of the text with their offsets, and the same words in the forms of the training data."""
        if not self._forms:
            sequence = self._splitter.split(text)
            return sequence, sequence.words
        typed = self._forms.characters(text)
        sequence = self._splitter.split(typed)
        offsets = self._joined(sequence)
        written = self._forms.words([typed[start:end] for start, end in offsets], typed, offsets)
        return WordSequence(text, [text[start:end] for start, end in offsets], offsets), written

    def _joined(self, sequence: WordSequence) -> list[list[int]]:
        """The offsets of the words after joining the parts of a split sign or hyphenated word."""
        text, places = sequence.text, sequence.offsets
        hyphens = self._forms.keeps_hyphenated and isinstance(self._splitter, EnglishSplitter)
        joined: list[list[int]] = []
        place = 0
        while place < len(places):
            start, end = places[place]
            last = place
            for other in range(place + 1, len(places)):
                if places[other][0] != places[other - 1][1]:
                    break
                part = text[start : places[other][1]]
                if self._forms.joins(part) or (hyphens and _HYPHENATED.fullmatch(part)):
                    last, end = other, places[other][1]
                elif len(part) > _LONGEST_JOINED:
                    break
            joined.append([start, end])
            place = last + 1
        return joined


#: The splitters by name, for `dataset_reader.tokenizer` and the predictors' argument `tokenizer`.
SPLITTERS: dict[str, type[WordSplitter]] = {
    "english": EnglishSplitter,
    "tweets": TweetSplitter,
    "white_space": WhiteSpaceSplitter,
}


def join_words(words: list[str]) -> WordSequence:
    """The words joined by spaces, with their offsets in that text."""
    offsets = []
    start = 0
    for word in words:
        offsets.append([start, start + len(word)])
        start += len(word) + 1
    return WordSequence(" ".join(words), list(words), offsets)


def describe(words: list[str], spans: list[Span]) -> str:
    """
    The words as one line with the spans in brackets, `[ARG0 The boy] [V broke] [ARG1 the vase] .`. The spans `(label,
    first word, last word)`, inclusive, are sorted and do not overlap.
    """
    parts: list[str] = []
    position = 0
    for label, start, end in spans:
        parts += words[position:start]
        parts.append(f"[{label} {' '.join(words[start : end + 1])}]")
        position = end + 1
    return " ".join(parts + words[position:])
