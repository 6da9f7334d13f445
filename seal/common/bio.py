"""
BIO tags: reading them as spans, writing spans as tags, and the transitions a decoder may take.

Every function here follows the same scheme (IOB2): a span of label `X` starts with `B-X` and goes on with
`I-X`; a token outside every span carries `O`.
"""

from typing import List, Optional, Sequence, Tuple

import torch

from allennlp.common.checks import ConfigurationError

Span = Tuple[str, int, int]
"""A label with the index of the span's first token and of its last one (inclusive)."""


def bio_to_spans(tags: Sequence[str]) -> List[Span]:
    """
    The labelled spans of a tag sequence.

    The reading is lenient, as in `conlleval`: an `I-X` that continues no span of `X` starts one, so every
    sequence a model can emit can be read. Use [`first_illegal`](#first_illegal) to refuse such sequences.

    ```python
    bio_to_spans(["B-ARG0", "I-ARG0", "B-V", "O", "I-ARG1"])  # [("ARG0", 0, 1), ("V", 2, 2), ("ARG1", 4, 4)]
    ```

    # Parameters

    tags : `Sequence[str]`
        `O`, `B-<label>` or `I-<label>`, one a token. They are not validated: metrics call this for every
        frame.

    # Returns

    `List[Tuple[str, int, int]]`
        `(label, first token, last token)`, inclusive, from left to right; spans never overlap.
    """
    spans: List[Span] = []
    label: Optional[str] = None
    start = 0
    for index, tag in enumerate(tags):
        if tag == "O":
            if label is not None:
                spans.append((label, start, index - 1))
                label = None
        elif label is None:
            label = tag[2:]
            start = index
        elif tag[0] == "B" or tag[2:] != label:
            spans.append((label, start, index - 1))
            label = tag[2:]
            start = index
    if label is not None:
        spans.append((label, start, len(tags) - 1))
    return spans


def spans_to_bio(spans: Sequence[Span], length: int) -> List[str]:
    """
    The tag sequence of non-overlapping spans: the inverse of [`bio_to_spans`](#bio_to_spans).

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
    The first tag that breaks the BIO scheme.

    # Parameters

    tags : `Sequence[str]`
        One string a token.

    # Returns

    `Optional[int]`
        The index of the first string that is no BIO tag, or is an `I-X` after something else than `B-X` or
        `I-X`; `None` for a legal sequence.
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
    Which tag may follow which, and which may come first. Every tag may come last.

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
        Where a label is no BIO tag, as the padding and unknown entries of a padded vocabulary namespace are
        not.
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
