"""The lemma of a word by a table of training data and, of other words, by their endings."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from os.path import commonprefix

import torch
from torch import nn

from seal.structure.serialization import from_bytes, to_bytes

# Longest first.
_ENDINGS = (4, 3, 2, 1)
_STEM = 6


class Lemmas(nn.Module):
    """
    What a structure knows a frame's predicate by: its lemma, as training data have it. A word that they do not have is

    - a lemma itself, if they have it as one;
    - else what the words of training data with the same last letters (four if that makes a known lemma, else three, two
      or one) make of these: `walking` becomes `walk`, as `talking` is `talk`; the most frequent way first;
    - else the most frequent lemma of the words that share its first six letters; and else the word.

    Without lemmas in the data a word's lemma is its first six letters. Before `learn` each word is its own.
    """

    def __init__(self) -> None:
        super().__init__()
        #: The lemma of each word.
        self.table: dict[str, str] = {}
        self._known: set[str] = set()
        # For each ending the ways that its words have become lemmas: so many letters cut off, others added.
        self._ways: dict[str, list[tuple[int, str]]] = {}
        self._stems: dict[str, str] = {}

    def get_extra_state(self) -> torch.Tensor:
        return to_bytes(self.table)

    def set_extra_state(self, state: torch.Tensor) -> None:
        self._index(from_bytes(state))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, *args) -> None:
        # A structure that was learned before there was this table knows words as they are.
        state_dict.setdefault(prefix + "_extra_state", Lemmas().get_extra_state())
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *args)

    def learn(self, words: Iterable[str], lemmas: Iterable[str | None]) -> None:
        """From the predicates of training data, in lower case; `None` where the data have no lemma."""
        counts: defaultdict[str, Counter] = defaultdict(Counter)
        given = False
        for word, lemma in zip(words, lemmas):
            given = given or lemma is not None
            counts[word][lemma.lower() if lemma else word] += 1
        if not given:
            counts = defaultdict(Counter, {word: Counter([word[:_STEM]]) for word in counts})
        self._index({word: max(sorted(of_word), key=of_word.__getitem__) for word, of_word in counts.items()})

    def _index(self, table: dict[str, str]) -> None:
        self.table = table
        self._known = set(table.values())
        ways: defaultdict[str, Counter] = defaultdict(Counter)
        stems: defaultdict[str, Counter] = defaultdict(Counter)
        for word, lemma in table.items():
            stems[word[:_STEM]][lemma] += 1
            cut = len(word) - len(commonprefix([word, lemma]))
            for length in _ENDINGS:
                if cut <= length < len(word):
                    ways[word[-length:]][cut, lemma[len(word) - cut :]] += 1
        if all(lemma == word[:_STEM] for word, lemma in table.items()):
            ways.clear()
        self._ways = {ending: [way for way, _ in of.most_common()] for ending, of in ways.items()}
        self._stems = {stem: of.most_common(1)[0][0] for stem, of in stems.items()}

    def of(self, words: Sequence[str]) -> list[str]:
        """The lemmas of words in lower case."""
        return [self._of(word) for word in words] if self.table else list(words)

    def _of(self, word: str) -> str:
        if word in self.table:
            return self.table[word]
        if word in self._known:
            return word
        for length in _ENDINGS:
            for cut, added in self._ways.get(word[-length:], ()):
                lemma = word[: len(word) - cut] + added
                if lemma in self._known:
                    return lemma
        return self._stems.get(word[:_STEM], word)
