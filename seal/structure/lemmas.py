"""A lemmatiser: looks words up in a table of training data, and takes other words' lemmas from their endings."""

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
    Gives the lemma of a frame's predicate, from a table of the training data. The lemma of a word that is not in the
    table is

    - the word, if it is a lemma of the training data;
    - else a known lemma that the word becomes by the ending rule of a training word with the same last four letters,
      else three, two or one: `walking` becomes `walk`, as `talking` is `talk`. The most frequent rule comes first;
    - else the most frequent lemma of the training words with the same first six letters;
    - else the word.

    If the training data have no lemmas, a word's lemma is its first six letters. Before `learn` it is the word.
    """

    def __init__(self) -> None:
        super().__init__()
        #: The lemma of each word.
        self.table: dict[str, str] = {}
        self._known: set[str] = set()
        # The rules of each ending, the most frequent first: the number of letters to cut off, and those to add.
        self._rules: dict[str, list[tuple[int, str]]] = {}
        self._stems: dict[str, str] = {}

    def get_extra_state(self) -> torch.Tensor:
        return to_bytes(self.table)

    def set_extra_state(self, state: torch.Tensor) -> None:
        self._index(from_bytes(state))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, *args) -> None:
        # Older structures have no table: their keys are words.
        state_dict.setdefault(prefix + "_extra_state", Lemmas().get_extra_state())
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *args)

    def learn(self, words: Iterable[str], lemmas: Iterable[str | None]) -> None:
        """Builds the table from the predicates of the training data, in lower case, and their lemmas, or `None`."""
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
        rules: defaultdict[str, Counter] = defaultdict(Counter)
        stems: defaultdict[str, Counter] = defaultdict(Counter)
        for word, lemma in table.items():
            stems[word[:_STEM]][lemma] += 1
            cut = len(word) - len(commonprefix([word, lemma]))
            for length in _ENDINGS:
                if cut <= length < len(word):
                    rules[word[-length:]][cut, lemma[len(word) - cut :]] += 1
        if all(lemma == word[:_STEM] for word, lemma in table.items()):
            rules.clear()
        self._rules = {ending: [rule for rule, _ in counts.most_common()] for ending, counts in rules.items()}
        self._stems = {stem: counts.most_common(1)[0][0] for stem, counts in stems.items()}

    def of(self, words: Sequence[str]) -> list[str]:
        """The lemmas of words in lower case."""
        return [self._of(word) for word in words] if self.table else list(words)

    def _of(self, word: str) -> str:
        if word in self.table:
            return self.table[word]
        if word in self._known:
            return word
        for length in _ENDINGS:
            for cut, added in self._rules.get(word[-length:], ()):
                lemma = word[: len(word) - cut] + added
                if lemma in self._known:
                    return lemma
        return self._stems.get(word[:_STEM], word)
