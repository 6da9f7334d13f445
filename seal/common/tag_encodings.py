"""
The ways to write labelled spans as tags, one for each token: `IOB1`, `BIO` (IOB2) and `BIOES`.

A span of two tokens and, right after it, a span of one token, both with label `X`:

    IOB1    I-X I-X B-X     `B-` only where a span follows another of its label (CoNLL-2003 as published)
    BIO     B-X I-X B-X     `B-` begins every span
    BIOES   B-X E-X S-X     `E-` ends a span of several tokens, `S-` is a span of one

A token outside every span carries `O`. BIOES is what AllenNLP calls BIOUL, with `E` for `L` and `S` for `U`.
"""

from collections.abc import Iterable, Sequence
from typing import Optional

from seal.common.setting_checks import check_choice
from seal.registry import ConfigurationError

ENCODINGS = ("IOB1", "BIO", "BIOES")

Span = tuple[str, int, int]
"""A label with the index of the span's first token and of its last one (inclusive)."""


def tags_to_spans(tags: Sequence[str]) -> list[Span]:
    """
    The labelled spans of tags in any of the three encodings. One set of rules reads them all, because a sequence that
    is legal in several encodings has the same spans in each.

    The rules are lenient, as in `conlleval`, so that every sequence a model can emit can be read: a tag of label `X`
    other than `B-X` and `S-X` continues a span of `X` that is open right before it, and otherwise begins a new span;
    `E-X` and `S-X` close their span.

    ```python
    tags_to_spans(["B-A", "E-A", "S-A", "O", "I-B"])  # [("A", 0, 1), ("A", 2, 2), ("B", 4, 4)]
    ```

    # Parameters

    tags : `Sequence[str]`
        `O`, or `B`, `I`, `E` or `S` with `-<label>`, one a token; not validated.

    # Returns

    `list[tuple[str, int, int]]`
        `(label, first token, last token)`, inclusive, from left to right; spans never overlap.
    """
    spans: list[Span] = []
    # The label of the span that the next tag may continue; it is the last of `spans`.
    label: Optional[str] = None
    for index, tag in enumerate(tags):
        if tag == "O":
            label = None
            continue
        if tag[0] in "BS" or tag[2:] != label:
            spans.append((tag[2:], index, index))
        else:
            spans[-1] = (tag[2:], spans[-1][1], index)
        label = None if tag[0] in "ES" else tag[2:]
    return spans


def arguments_of(spans: Sequence[Span]) -> list[tuple]:
    """
    Joins the spans of a frame to arguments, like the CoNLL-2005 program `srl-eval.pl`: a span `C-X` continues the last
    argument `X` to its left; without such an argument it is an argument `X` itself. The predicate, `V` with its `C-V`,
    is left out.

    # Returns

    `list[tuple]`
        For each argument `(role, first, last, first of piece 2, last of piece 2, ...)`, inclusive.
    """
    if not any(span[0][:2] == "C-" for span in spans):
        return [span for span in spans if span[0] != "V"]
    arguments: list[tuple] = []
    latest: dict[str, int] = {}
    for role, start, end in spans:
        if role[:2] == "C-":
            role = role[2:]
            if role in latest:
                arguments[latest[role]] += (start, end)
                continue
        latest[role] = len(arguments)
        arguments.append((role, start, end))
    return [argument for argument in arguments if argument[0] != "V"]


def spans_to_bio(spans: Sequence[Span], length: int) -> list[str]:
    """
    The BIO tags of non-overlapping spans: the inverse of `tags_to_spans`.

    # Parameters

    spans : `Sequence[tuple[str, int, int]]`
        `(label, first token, last token)`, inclusive, in any order.
    length : `int`
        The number of tokens.

    # Returns

    `list[str]`
        `length` tags.

    # Raises

    `ValueError`
        If a span leaves the sequence, ends before it starts, has no label, or overlaps another one.
    """
    tags = ["O"] * length
    for label, start, end in spans:
        if not label:
            raise ValueError(f"The span from token {start} to {end} has no label.")
        if not 0 <= start <= end < length:
            raise ValueError(f"The {label} span from token {start} to {end} does not fit {length} tokens.")
        if any(tag != "O" for tag in tags[start : end + 1]):
            raise ValueError(f"The {label} span from token {start} to {end} overlaps another span.")
        tags[start] = f"B-{label}"
        tags[start + 1 : end + 1] = [f"I-{label}"] * (end - start)
    return tags


def first_broken(tags: Sequence[str], encoding: str) -> Optional[int]:
    """
    The index of the first tag that breaks an encoding.

    In `IOB1` every order of tags is accepted. A `B-X` that follows no span of `X` is unnecessary there, but it can be
    read in one way only, and files in circulation mix the two forms.

    # Parameters

    tags : `Sequence[str]`
    encoding : `str`
        `"IOB1"`, `"BIO"` or `"BIOES"`.

    # Returns

    `Optional[int]`
        The index of the first string that is not a tag of the encoding or may not follow the tag before it. Where the
        sequence ends inside a BIOES span, the index of the last tag. `None` for a legal sequence.

    # Raises

    `ConfigurationError` if there is no such encoding.
    """
    check_encoding(encoding)
    # The label of the span that is open before a tag.
    label: Optional[str] = None
    for index, tag in enumerate(tags):
        if not _is_tag(tag, encoding):
            return index
        continues = tag[:2] in ("I-", "E-")
        if encoding != "IOB1" and continues and tag[2:] != label:
            return index
        # Only in BIOES does a span have to end.
        if encoding == "BIOES" and label is not None and not continues:
            return index
        label = tag[2:] if tag[:2] in ("B-", "I-") else None
    return len(tags) - 1 if encoding == "BIOES" and label is not None else None


def convert_tags(tags: Sequence[str], source: str, target: str) -> list[str]:
    """
    Rewrites tags in another encoding, with the same spans.

    # Parameters

    tags : `Sequence[str]`
        Legal in `source`.
    source : `str`
        `"IOB1"`, `"BIO"` or `"BIOES"`.
    target : `str`
        `"BIO"` or `"BIOES"`.

    # Returns

    `list[str]`
        As many tags as were given.

    # Raises

    `ConfigurationError`
        If an encoding is unknown, or the tags break `source`.
    """
    check_encoding(target)
    if target == "IOB1":
        raise ConfigurationError("Tags are converted to 'BIO' or 'BIOES', not to 'IOB1'.")
    broken = first_broken(tags, source)
    if broken is not None:
        raise ConfigurationError(f"Tag {broken}, {tags[broken]!r}, breaks the encoding {source}.")
    return spans_to_tags(tags_to_spans(tags), len(tags), target)


def repaired_tags(tags: Sequence[str], encoding: str) -> Optional[list[str]]:
    """
    Repairs tags that break their encoding in a few places: returns legal tags with the spans that `tags_to_spans`, and
    so `conlleval`, reads. An `I-X` that continues no span of `X` begins one. In `BIOES`, an unfinished span ends.

    ```python
    repaired_tags(["O", "I-A", "I-A", "I-B"], "BIO")  # ["O", "B-A", "I-A", "B-B"]
    ```

    # Parameters

    tags : `Sequence[str]`
    encoding : `str`
        `"IOB1"`, `"BIO"` or `"BIOES"`.

    # Returns

    `Optional[list[str]]`
        As many tags as were given; legal tags are unchanged. `None` if one of them is no tag of the encoding.

    # Raises

    `ConfigurationError` if there is no such encoding.
    """
    if first_broken(tags, encoding) is None:
        return list(tags)
    if not all(_is_tag(tag, encoding) for tag in tags):
        return None
    return spans_to_tags(tags_to_spans(tags), len(tags), encoding)


def _is_tag(tag: str, encoding: str) -> bool:
    """Whether a string can be a tag of the encoding, wherever it stands."""
    prefixes = ("B-", "I-", "E-", "S-") if encoding == "BIOES" else ("B-", "I-")
    return tag == "O" or (tag[:2] in prefixes and len(tag) > 2)


def spans_to_tags(spans: Sequence[Span], length: int, encoding: str) -> list[str]:
    """As `spans_to_bio`, in any of the three encodings."""
    tags = spans_to_bio(spans, length)
    if encoding == "BIOES":
        for label, start, end in spans:
            tags[end] = f"S-{label}" if start == end else f"E-{label}"
    if encoding == "IOB1":
        # The label of the span that ends right before a place.
        ends = {end + 1: label for label, _, end in spans}
        for label, start, _ in spans:
            if ends.get(start) != label:
                tags[start] = f"I-{label}"
    return tags


def learned_encoding(labels: Iterable[str]) -> str:
    """The encoding of a model's tags of spans, `"BIO"` or `"BIOES"`: only BIOES has tags such as `E-X` and `S-X`."""
    return "BIOES" if any(label[:2] in ("E-", "S-") for label in labels) else "BIO"


def check_encoding(encoding: str, key: str = "encoding") -> None:
    """
    Checks the name of an encoding.

    # Raises

    `ConfigurationError` if `encoding`, the value of the argument `key`, is none of the three.
    """
    check_choice(key, encoding, ENCODINGS)
