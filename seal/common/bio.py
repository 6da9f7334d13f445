"""
BIO tags: writing spans as tags, and the transitions a decoder may take. `tag_encodings` reads tags as spans.

Every function here follows the same scheme (IOB2): a span of label `X` starts with `B-X` and goes on with
`I-X`; a token outside every span carries `O`.
"""

from typing import List, Optional, Sequence, Tuple

import torch

from allennlp.common.checks import ConfigurationError

Span = Tuple[str, int, int]
"""A label with the index of the span's first token and of its last one (inclusive)."""


def spans_to_bio(spans: Sequence[Span], length: int) -> List[str]:
    """
    The BIO tags of non-overlapping spans: the inverse of `tags_to_spans`.

    # Parameters

    spans : `Sequence[Tuple[str, int, int]]`
        `(label, first token, last token)`, inclusive, in any order.
    length : `int`
        The number of tokens.

    # Returns

    `List[str]`
        `length` tags.

    # Raises

    `ValueError`
        Where a span leaves the sequence, ends before it starts, has no label, or overlaps another one.
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


def first_illegal(tags: Sequence[str]) -> Optional[int]:
    """
    The index of the first tag that breaks the BIO scheme.

    # Parameters

    tags : `Sequence[str]`
        One string a token.

    # Returns

    `Optional[int]`
        The index of the first string that is not a BIO tag, or is an `I-X` that does not follow `B-X` or `I-X`;
        `None` for a legal sequence.
    """
    label: Optional[str] = None
    for index, tag in enumerate(tags):
        if tag == "O":
            label = None
        elif tag[:2] == "B-" and len(tag) > 2:
            label = tag[2:]
        elif tag[:2] != "I-" or len(tag) == 2 or tag[2:] != label:
            return index
    return None


def allowed_transitions(labels: Sequence[str]) -> Tuple[torch.BoolTensor, torch.BoolTensor]:
    """
    Which BIO tag may follow which, and which may come first. Every tag may come last.

    # Parameters

    labels : `Sequence[str]`
        The `C` tags in the order of their indices, for instance a vocabulary's `srl_tags` namespace.

    # Returns

    transitions : `torch.BoolTensor`
        shape: (C, C), indexed `[from, to]`: `I-X` is allowed only after `B-X` and `I-X`, all else always.
    starts : `torch.BoolTensor`
        shape: (C,): false for `I-X`.

    # Raises

    `ConfigurationError`
        Where a label is not a BIO tag. The padding and unknown entries of a padded vocabulary namespace are none.
    """
    for label in labels:
        if label != "O" and (label[:2] not in ("B-", "I-") or len(label) == 2):
            raise ConfigurationError(
                f"{label!r} is not a BIO tag: expected 'O', 'B-<label>' or 'I-<label>'; of BIOES tags set "
                "output_space.encoding to 'BIOES'. A vocabulary namespace of tags must end in 'tags': others hold "
                "padding and unknown entries too."
            )
    # shape: (C,)
    starts = torch.tensor([label[:2] != "I-" for label in labels], dtype=torch.bool)
    # shape: (C, C)
    transitions = starts.unsqueeze(0).repeat(len(labels), 1)
    for to_index, to_label in enumerate(labels):
        if to_label[:2] == "I-":
            for from_index, from_label in enumerate(labels):
                transitions[from_index, to_index] = from_label != "O" and from_label[2:] == to_label[2:]
    return transitions, starts
