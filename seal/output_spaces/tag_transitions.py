"""
The legal transitions between tags of an encoding, which constrain a decoder to legal sequences.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from seal.registry import ConfigurationError

#: The encodings with legal transitions.
DECODED = ("BIO", "BIOES")


class TagTransitions(NamedTuple):
    """
    # Parameters

    pairs : `torch.BoolTensor`
        shape: (C, C), indexed `[from, to]`: whether the second tag may follow the first.
    starts, ends : `torch.BoolTensor`
        shape: (C,): which tags may come first, and which may come last.
    """

    pairs: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor


def tag_transitions(labels: Sequence[str], encoding: str) -> TagTransitions:
    """
    The legal transitions between tags. In BIO `I-X` may follow only `B-X` and `I-X`, and every other tag may follow any
    tag; in BIOES a span that begins with `B-X` goes on with `I-X` and must end with `E-X`.

    # Parameters

    labels : `Sequence[str]`
        The `C` tags in the order of their indices.
    encoding : `str`
        `"BIO"` or `"BIOES"`.

    # Raises

    `ConfigurationError` if a label is not a tag of the encoding. In BIOES also if a label begins a span that no label
    ends, or if there is neither an `O` nor an `S-X`, so that a sentence of one token has no legal tag.
    """
    (_check_bio if encoding == "BIO" else _check_bioes)(labels)
    # For each tag, the label of the span that is open after it, and of the span that must be open before it.
    opened = [label[2:] if label[0] in "BI" else None for label in labels]
    needed = [label[2:] if label[0] in "IE" else None for label in labels]
    # In BIO an open span may end anywhere, in BIOES only at its `E`.
    ends_anywhere = encoding == "BIO"
    pairs = torch.tensor(
        [[after == before or (ends_anywhere and after is None) for after in needed] for before in opened],
        dtype=torch.bool,
    )
    starts = torch.tensor([label is None for label in needed], dtype=torch.bool)
    ends = torch.tensor([ends_anywhere or label is None for label in opened], dtype=torch.bool)
    if encoding == "BIOES" and not bool((starts & ends).any()):
        raise ConfigurationError("BIOES tags without 'O' and without 'S-<label>' leave no tag to a lone token.")
    return TagTransitions(pairs, starts, ends)


def _check_bio(labels: Sequence[str]) -> None:
    for label in labels:
        if label != "O" and (label[:2] not in ("B-", "I-") or len(label) == 2):
            raise ConfigurationError(
                f"{label!r} is not a BIO tag: expected 'O', 'B-<label>' or 'I-<label>'; of BIOES tags set "
                "output_space.encoding to 'BIOES'. A vocabulary namespace of tags must end in 'tags': others hold "
                "padding and unknown entries too."
            )
    for label in labels:
        if label[0] == "I" and f"B-{label[2:]}" not in labels:
            raise ConfigurationError(
                f"the tags are not BIO: there is '{label}' and no 'B-{label[2:]}'; of IOB1 tags set "
                "dataset_reader.encoding to 'IOB1' and dataset_reader.target_encoding to 'BIO'."
            )


def _check_bioes(labels: Sequence[str]) -> None:
    for label in labels:
        if label != "O" and (label[:2] not in ("B-", "I-", "E-", "S-") or len(label) == 2):
            raise ConfigurationError(
                f"{label!r} is not a BIOES tag: expected 'O' or '<B, I, E or S>-<label>'. A vocabulary namespace of "
                "tags must end in 'tags': others hold padding and unknown entries too."
            )
    for label in labels:
        if label[0] == "B" and f"E-{label[2:]}" not in labels:
            raise ConfigurationError(
                f"the tags are not BIOES: there is '{label}' and no 'E-{label[2:]}'; of BIO tags set "
                "output_space.encoding to 'BIO', or dataset_reader.target_encoding to 'BIOES'."
            )
