"""
How files write the tags of spans: the encoding, and the form of each tag. `recognise` finds both from the tags of a
file, and a `TagNotation` reads such tags as `B-PER`, the form in which models learn them, and writes tags as the file
does.

| a file writes | read as |
|---|---|
| `I-PER I-PER O` (IOB1), `B-PER I-PER O` (BIO) | BIO |
| `B-PER E-PER S-PER O`, with `L` and `U`, `M`, or `M` and `W` in the place of `I`, `E`, `S` | BIOES |
| `b-PER o`, `B_PER O`, `PER-B O`, `B-PER -`, `B-PER` and nothing | with `B-PER` and `O` |
| `B I O`, `B M E S` | with the label `SPAN` |
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from seal.common.tag_encodings import spans_to_tags, tags_to_spans
from seal.common.vocabularies import NOTATIONS, Vocabulary, labels_of
from seal.registry import ConfigurationError

#: The label of spans whose tags have none: `B I O`.
NO_LABEL = "SPAN"
# The letters for B, I, E and S. Of several sets that a file's letters are in, the first is taken.
_LETTERS = {"BI": "BIO", "BIES": "BIOES", "BILU": "BIOES", "BMES": "BIOES", "BMEW": "BIOES"}
_ANY_LETTER = frozenset("".join(_LETTERS))
_SEPARATORS = "-_:/.|"
_OUTSIDE = ("O", "o", "-", "_", "")
_EMPTY = '""'
_CORRECT = "correct the file, or set dataset_reader.encoding to null if its tags write no spans"

_Parsed = tuple[str, str, str]
"""The letter, the separator and the label of a tag."""


@dataclass(frozen=True)
class TagNotation:
    """
    The form in which a file writes the tags of spans.

    # Parameters

    encoding : `str`
        `"IOB1"`, `"BIO"` or `"BIOES"` (see `seal.common.tag_encodings`).
    letters : `str`, optional (default = `None`)
        The letters of the file for B and I, or in BIOES for B, I, E and S, such as `"BMES"`. `None`: these letters
        themselves.
    separator : `str`, optional (default = `"-"`)
        The character between letter and label; empty where tags have no label.
    label_first : `bool`, optional (default = `False`)
        Whether the letter follows the label, as in `PER-B`.
    outside : `str`, optional (default = `"O"`)
        The tag of a token outside spans.
    """

    encoding: str
    letters: str = ""
    separator: str = "-"
    label_first: bool = False
    outside: str = "O"

    def __post_init__(self) -> None:
        if not self.letters:
            object.__setattr__(self, "letters", "BIES" if self.encoding == "BIOES" else "BI")

    @property
    def name(self) -> str:
        """The notation as text, such as `BIOES B-X M-X E-X S-X O`, which `named` parses."""
        return " ".join([self.encoding, *(self._tag(letter, "X") for letter in self.letters), self.outside or _EMPTY])

    @classmethod
    def named(cls, name: str) -> "TagNotation":
        encoding, *tags, outside = name.split(" ")
        label_first, bare = tags[0][0] == "X", len(tags[0]) == 1
        letters = "".join(tag[-1] if label_first else tag[0] for tag in tags)
        return cls(encoding, letters, "" if bare else tags[0][1], label_first, "" if outside == _EMPTY else outside)

    @property
    def learned(self) -> str:
        """The encoding in which models learn these tags: `"BIO"` or `"BIOES"`."""
        return "BIO" if self.encoding == "IOB1" else self.encoding

    def read(self, tags: Sequence[str]) -> list[str]:
        """Converts tags to the forms `O` and `B-<label>`, in the same encoding. Tags in another notation stay."""
        return [tag if (found := self._plain(tag)) is None else found for tag in tags]

    def write(self, tags: Sequence[str], encoding: str) -> list[str]:
        """Converts tags of BIO or BIOES, given by `encoding`, to the notation of the file."""
        if encoding != self.encoding:
            tags = spans_to_tags(tags_to_spans(tags), len(tags), self.encoding)
        letters = dict(zip("BIES", self.letters))
        return [self.outside if tag == "O" else self._tag(letters[tag[0]], tag[2:]) for tag in tags]

    def converted(self, tags: Sequence[str], encoding: str) -> list[str]:
        """Converts tags of the file to `O` and `B-<label>` in another encoding: the inverse of `write`."""
        return spans_to_tags(tags_to_spans(self.read(tags)), len(tags), encoding)

    def fits(self, tags: Iterable[str]) -> bool:
        """Whether all tags have this notation."""
        return all(self._plain(tag) is not None for tag in tags)

    def _tag(self, letter: str, label: str) -> str:
        if not self.separator:
            return letter
        return f"{label}{self.separator}{letter}" if self.label_first else f"{letter}{self.separator}{label}"

    def _plain(self, tag: str) -> Optional[str]:
        """A tag as `O` or `B-<label>`; `None` if it has another notation."""
        if tag == self.outside:
            return "O"
        parsed = _parsed(tag, self.label_first) if self.separator else (tag, "", NO_LABEL)
        if parsed is None or parsed[1] != self.separator or parsed[0] not in tuple(self.letters):
            return None
        return f"{'BIES'[self.letters.index(parsed[0])]}-{parsed[2]}"


def notation_of(vocab: Vocabulary) -> Optional[TagNotation]:
    """
    The notation of span tags in a model's training data; the most frequent one if files differ. `None` if the data have
    no span tags, or `vocab` is a list of labels.
    """
    namespaces = getattr(vocab, "get_namespaces", None)
    if isinstance(vocab, Sequence) or (namespaces is not None and NOTATIONS not in namespaces()):
        return None
    names = labels_of(vocab, NOTATIONS)
    return TagNotation.named(names[0]) if names else None


class TagsSeen:
    """The tags of a file with their counts, and the pairs of successive tags with the first place of each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        #: `(tag before, tag)`; `None` at the start of a sentence.
        self.pairs: dict[tuple[Optional[str], str], str] = {}

    def add(self, tags: Sequence[str], path: str, lines: Sequence[int]) -> None:
        """Adds the tags of a sentence, each with its line of the file."""
        self.counts.update(tags)
        for before, tag, line in zip((None, *tags), tags, lines):
            if (before, tag) not in self.pairs:
                self.pairs[before, tag] = f"{path}:{line}"

    def place(self, tag: str) -> str:
        """`file:line` of the first occurrence of a tag."""
        return next(place for (_, other), place in self.pairs.items() if other == tag)


def recognise(seen: TagsSeen, repair: bool = False) -> Optional[TagNotation]:
    """
    Recognises the notation of a file's tags; `None` if they do not look like tags of spans, but like parts of speech.

    # Parameters

    seen : `TagsSeen`
        All tags of the file.
    repair : `bool`, optional (default = `False`)
        Whether tags that mix IOB1 and BIO count as BIO with errors, which the caller repairs.

    # Raises

    `ConfigurationError` if the tags mix two ways to write spans, with the place of the second one.
    """
    outside = [tag for tag in seen.counts if tag in _OUTSIDE]
    others = [tag for tag in seen.counts if tag not in _OUTSIDE]
    parsed, label_first = _spans_of(seen, others, bool(outside))
    if not parsed:
        return None
    _check_one(seen, parsed, lambda tag: parsed[tag][1], "in another form than")
    _check_one(seen, parsed, lambda tag: parsed[tag][0].isupper(), "in another case than")
    _check_one(seen, outside, lambda tag: tag, "outside of spans, as is")
    first = next(iter(parsed))
    used = {letter.upper() for letter, _, _ in parsed.values()}
    letters = next((known for known in _LETTERS if used <= set(known)), None)
    if letters is None:
        # The letters that the set with most of them lacks.
        nearest = max(_LETTERS, key=lambda known: sum(seen.counts[t] for t in parsed if parsed[t][0].upper() in known))
        wrong = next(tag for tag in parsed if parsed[tag][0].upper() not in nearest)
        raise ConfigurationError(
            f"{seen.place(wrong)}: the tag {wrong!r} is in another encoding than {first!r}: none has the letters "
            f"{', '.join(sorted(used))}; {_CORRECT}."
        )
    encoding = _LETTERS[letters]
    upper = parsed[first][0].isupper()
    written = letters if upper else letters.lower()
    o = outside[0] if outside else "O" if upper else "o"
    found = TagNotation(encoding, written, parsed[first][1], label_first, o)
    return found if encoding == "BIOES" else _iob1_or_bio(seen, found, repair)


def _parsed(tag: str, label_first: bool) -> Optional[_Parsed]:
    """Letter, separator and label of a tag; `None` for any other string."""
    letter, separator, label = (tag[-1:], tag[-2:-1], tag[:-2]) if label_first else (tag[:1], tag[1:2], tag[2:])
    if not label or not separator or separator not in _SEPARATORS or letter.upper() not in _ANY_LETTER:
        return None
    return letter, separator, label


def _spans_of(seen: TagsSeen, tags: Sequence[str], has_outside: bool) -> tuple[dict[str, _Parsed], bool]:
    """
    The letter, separator and label of each tag, and whether the label is first. Empty if the tags do not look like
    spans.
    """
    letters = {tag.upper() for tag in tags}
    if any(letters <= set(known) for known in _LETTERS) and ("B" in letters or (has_outside and "I" in letters)):
        return {tag: (tag, "", NO_LABEL) for tag in tags}, False
    for label_first in (False, True):
        parsed = {tag: found for tag in tags if (found := _parsed(tag, label_first)) is not None}
        begun = {label for letter, _, label in parsed.values() if letter in "Bb"}
        inside = {label for letter, _, label in parsed.values() if letter in "Ii"}
        # A label with B and with another letter: there are spans of several tokens.
        sure = any(letter not in "Bb" and label in begun for letter, _, label in parsed.values())
        rest = [tag for tag in tags if tag not in parsed]
        enough = begun or (inside and has_outside) if label_first else begun or inside or has_outside
        if parsed and not rest and enough:
            return parsed, label_first
        if rest and sure and sum(seen.counts[tag] for tag in parsed) > sum(seen.counts[tag] for tag in rest):
            raise ConfigurationError(
                f"{seen.place(rest[0])}: the tag {rest[0]!r} is not written as the others, such as "
                f"{next(iter(parsed))!r}; {_CORRECT}."
            )
    return {}, False


def _check_one(seen: TagsSeen, tags: Iterable[str], key: Callable[[str], Any], relation: str) -> None:
    """Raises a `ConfigurationError` if `key` has different values for the tags."""
    of_key: dict[Any, list[str]] = {}
    for tag in tags:
        of_key.setdefault(key(tag), []).append(tag)
    if len(of_key) > 1:
        common, *_, rare = sorted(of_key.values(), key=lambda group: -sum(seen.counts[tag] for tag in group))
        raise ConfigurationError(
            f"{seen.place(rare[0])}: the tag {rare[0]!r} is {relation} {common[0]!r} ({seen.place(common[0])}): the "
            "file mixes two ways to write spans; correct it."
        )


def _iob1_or_bio(seen: TagsSeen, found: TagNotation, repair: bool) -> TagNotation:
    begins_inside = unneeded = None
    for (before, tag), place in seen.pairs.items():
        now, last = found.read([tag])[0], "O" if before is None else found.read([before])[0]
        if now == "O":
            continue
        continues = last != "O" and last[2:] == now[2:]
        if now[0] == "I" and not continues:
            begins_inside = begins_inside or (tag, place)
        if now[0] == "B" and not continues:
            unneeded = unneeded or (tag, place)
    if begins_inside is None or (unneeded is not None and repair):
        return found
    if unneeded is None:
        return TagNotation("IOB1", found.letters, found.separator, found.label_first, found.outside)
    raise ConfigurationError(
        f"{begins_inside[1]}: the tag {begins_inside[0]!r} begins a span, as {unneeded[0]!r} does ({unneeded[1]}): the "
        "file mixes IOB1 and BIO; set dataset_reader.repair to true to read it as BIO, or encoding to 'IOB1'."
    )
