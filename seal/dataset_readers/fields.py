"""
Fields of instances: labels that the vocabulary may lack, words whose written forms it counts, and names of the columns
of a table, which it keeps in their order.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.fields import MetadataField, MultiLabelField, SequenceLabelField

from seal.common.vocabularies import WRITTEN
from seal.files.names import composed

# Treebanks write `-LRB-` for `(` and two backticks for an opening quote; other data keep signs as they were typed. A
# model knows only the forms that it was trained on.
#: The forms of each sign that is a word of its own. A vocabulary has them as `sign form`, the commonest first.
SIGNS: dict[str, tuple[str, ...]] = {
    "(": ("(", "-LRB-", "-lrb-"),
    ")": (")", "-RRB-", "-rrb-"),
    "[": ("[", "-LSB-", "-lsb-"),
    "]": ("]", "-RSB-", "-rsb-"),
    "{": ("{", "-LCB-", "-lcb-"),
    "}": ("}", "-RCB-", "-rcb-"),
    "opening": ("``", '"', "\u201c", "\u201e", "\u00ab"),
    "closing": ("''", '"', "\u201d", "\u00bb"),
    "single-opening": ("`", "\u2018", "\u2039"),
    "single-closing": ("'", "\u2019", "\u203a"),
    "ellipsis": ("...", "\u2026", ". . ."),
    "dash": ("--", "-", "\u2014", "\u2013", "---", "\u2212"),
}
#: Signs inside of words, and the character of each that keyboards have.
INSIDE: dict[str, tuple[str, ...]] = {
    "apostrophe": ("'", "\u2019", "\u02bc", "\u00b4"),
    "hyphen": ("-", "\u2010", "\u2011"),
}
#: Whether a hyphenated word is one word, or three.
HYPHENATED, WHOLE, SPLIT = "hyphenated", "whole", "split"

_SIGNS_OF: dict[str, list[str]] = {}
for _sign, _forms in SIGNS.items():
    for _form in _forms:
        _SIGNS_OF.setdefault(_form, []).append(_sign)
_LETTER = r"[^\W\d_]"
_APOSTROPHE = re.compile(rf"(?<={_LETTER})[{''.join(INSIDE['apostrophe'])}](?={_LETTER})")
_HYPHEN = re.compile(rf"(?<={_LETTER})[{''.join(INSIDE['hyphen'])}](?={_LETTER})")
# Words with an apostrophe at their beginning, or before one letter.
_CLITICS = {
    clitic.replace("'", sign)
    for clitic in ("n't", "'s", "'re", "'ve", "'ll", "'d", "'m")
    for sign in INSIDE["apostrophe"]
}
_IN_WORDS = {"apostrophe": _APOSTROPHE, "hyphen": _HYPHEN}


def count_forms(words: list[str]) -> dict[str, int]:
    """The forms that the words of a sentence are written in, each `sign form`, with their number."""
    found: Counter = Counter()
    for place, word in enumerate(words):
        if word == "-" and 0 < place < len(words) - 1 and words[place - 1].isalpha() and words[place + 1].isalpha():
            # A dash, where the data have hyphenated words that are whole.
            found[f"{HYPHENATED} {SPLIT}"] += 1
            continue
        for sign in _SIGNS_OF.get(word, ()):
            found[f"{sign} {word}"] += 1
        if word.isalnum():
            continue
        for name, pattern in _IN_WORDS.items():
            for match in pattern.finditer(word):
                found[f"{name} {match.group()}"] += 1
        if word.lower() in _CLITICS:
            found[f"apostrophe {next(sign for sign in word if not sign.isalpha())}"] += 1
        if _HYPHEN.search(word):
            found[f"{HYPHENATED} {WHOLE}"] += 1
    return dict(found)


class WrittenForms:
    """
    Brings text to the forms of the training data.

    # Parameters

    forms : `Iterable[str]`
        Those of `count_forms` over the training data, the commonest first. Without any nothing is changed.
    """

    def __init__(self, forms: Iterable[str]) -> None:
        self._seen: dict[str, list[str]] = {}
        for form in forms:
            sign, _, written = form.partition(" ")
            self._seen.setdefault(sign, []).append(written)
        if self.keeps_hyphenated and SPLIT in self._seen[HYPHENATED]:
            self._seen.setdefault("dash", []).append("-")

    def __bool__(self) -> bool:
        return bool(self._seen)

    @property
    def keeps_hyphenated(self) -> bool:
        """Whether hyphenated words are one word in the training data."""
        return self._seen.get(HYPHENATED, [SPLIT])[0] == WHOLE

    def characters(self, text: str) -> str:
        """The text with apostrophes and hyphens inside of words as in the training data; of the same length."""
        for name, pattern in _IN_WORDS.items():
            seen = self._seen.get(name)
            if name == "hyphen" and HYPHENATED in self._seen:
                seen = seen or ["-"]
            if seen:
                text = pattern.sub(lambda match: match.group() if match.group() in seen else seen[0], text)
        return text

    def joins(self, word: str) -> bool:
        """Whether a splitter's words without a blank between them are one sign of this form."""
        return len(word) > 1 and bool(self) and word in _SIGNS_OF

    def words(self, words: list[str], text: str, offsets: list[list[int]]) -> list[str]:
        """
        The words as the training data would write them.

        # Parameters

        words : `list[str]`
        text : `str`
        offsets : `list[list[int]]`
            `[start, end)` of each word in the text, which tells whether a quote opens or closes.
        """
        written, quotes = [], 0
        for word, (start, end) in zip(words, offsets):
            signs: Sequence[str] = _SIGNS_OF.get(word, ())
            if word == '"':
                quotes += 1
                before, after = text[max(start - 1, 0) : start], text[end : end + 1]
                opens = not before.strip() or before in "([{-\u2013\u2014/"
                if opens == (not after.strip()):
                    # As much room before as behind.
                    opens = quotes % 2 == 1
                signs = ("opening",) if opens else ("closing",)
            elif word == "-" and text[start - 1 : end + 1].strip() == text[start - 1 : end + 1] and 0 < start:
                signs = ()  # A hyphen, or a minus.
            for sign in signs:
                seen = self._seen.get(sign)
                if seen and word not in seen:
                    word = seen[0]
                    break
            written.append(word)
        return written


class KnownLabelsField(SequenceLabelField):
    """
    A `SequenceLabelField` of strings in which a label that the vocabulary lacks is a placeholder, index 0. Label
    namespaces have no unknown entry, and AllenNLP's field ends in a `KeyError`. Models find such labels in the
    metadata: they count them as missed in evaluation and refuse to learn from them (`seal.metrics.UnknownGold`). Labels
    that are indices bypass the vocabulary.
    """

    def index(self, vocab: Vocabulary) -> None:
        if self._indexed_labels is None:
            known = vocab.get_token_to_index_vocabulary(self._label_namespace)
            self._indexed_labels = [known.get(label, 0) for label in self.labels]


class LabelSetField(MultiLabelField):
    """
    A `MultiLabelField` of names, with a tensor in floating point, which leaves out labels that the vocabulary lacks,
    for the same reason.
    """

    def index(self, vocab: Vocabulary) -> None:
        known = vocab.get_token_to_index_vocabulary(self._label_namespace)
        self._label_ids = [known[label] for label in self.labels if label in known]
        self._num_labels = len(known)

    def as_tensor(self, padding_lengths: dict[str, int]) -> torch.Tensor:
        """0 or 1: `(labels,)`."""
        return super().as_tensor(padding_lengths).float()


class WordsField(MetadataField):
    """
    The metadata of a sentence, from whose `words` the vocabulary learns how its data write brackets, quotes and the
    like. Prediction brings raw text to these forms.
    """

    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        for form, count in count_forms(self.metadata["words"]).items():
            counter[WRITTEN][form] += count


class NamedColumns:
    """
    The names of a table's columns, as a namespace of the vocabulary. A model keeps them there, and finds its columns
    in files that have them in another order.

    # Parameters

    names : `list[str]`
    namespace : `str`
        One without padding and unknown entries.
    what : `str`
        What a column is, for messages.
    source : `str`
        The file the names are from.
    wheres : `dict[str, str]`, optional (default = `None`)
        `file:line` of the names, as far as known.
    """

    def __init__(
        self, names: list[str], namespace: str, what: str, source: str, wheres: Optional[dict[str, str]] = None
    ) -> None:
        self.names = names
        self.namespace = namespace
        self._what = what
        self._source = source
        self._wheres = wheres or {}
        # Cached, because every row asks for it where rows are instances.
        self._order: Optional[tuple[Vocabulary, numpy.ndarray]] = None

    def count(self, counter: dict[str, dict[str, int]]) -> None:
        """Counts every name once, so that the vocabulary keeps their order."""
        for name in self.names:
            counter[self.namespace][name] += 1

    def order(self, vocab: Vocabulary) -> numpy.ndarray:
        """
        # Returns

        `numpy.ndarray`, `(columns,)`: the table's column of each of the vocabulary's entries.

        # Raises

        `ConfigurationError` if the names are not those of the vocabulary, whatever their order, or one is there twice.
        """
        if self._order is None or self._order[0] is not vocab:
            self._order = (vocab, self._order_of(vocab))
        return self._order[1]

    def _order_of(self, vocab: Vocabulary) -> numpy.ndarray:
        known = vocab.get_token_to_index_vocabulary(self.namespace)
        if not known.keys() >= set(self.names):
            # A model of before names of labels were composed has them as its files did.
            known = {name if name in self.names else composed(name): index for name, index in known.items()}
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise ConfigurationError(f"{self._source}: the {self._what} '{name}' is there twice.")
            seen.add(name)
            if name not in known:
                where = self._wheres.get(name, self._source)
                raise ConfigurationError(
                    f"{where}: the {self._what} '{name}' is not among those the model was trained with."
                )
        if len(known) > len(self.names):
            missing = next(name for name in known if name not in seen)
            raise ConfigurationError(
                f"{self._source}: the {self._what} '{missing}' is missing, which the model was trained with."
            )
        order = numpy.empty(len(self.names), dtype=numpy.int64)
        order[[known[name] for name in self.names]] = numpy.arange(len(self.names))
        return order

    def ordered(self, order: numpy.ndarray) -> "NamedColumns":
        """The same names in another order."""
        return NamedColumns([self.names[i] for i in order], self.namespace, self._what, self._source, self._wheres)


class NamesField(MetadataField):
    """The source of a row, anything `more` about it, and the columns whose names the vocabulary counts from it."""

    def __init__(self, source: Optional[str], columns: Sequence[NamedColumns], **more: Any) -> None:
        super().__init__({"source": source, **more})
        self._columns = columns

    def count_vocab_items(self, counter: dict[str, dict[str, int]]) -> None:
        for column in self._columns:
            column.count(counter)
