import itertools

import pytest
import torch

from allennlp.common.checks import ConfigurationError

from seal.common.bio import allowed_transitions, first_illegal, spans_to_bio
from seal.common.tag_encodings import tags_to_spans

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def test_spans_to_bio_inverts_every_legal_sequence():
    legal = [tags for tags in itertools.product(TAGS, repeat=5) if first_illegal(tags) is None]
    assert len(legal) > 100
    for tags in legal:
        assert spans_to_bio(tags_to_spans(tags)[::-1], 5) == list(tags)


@pytest.mark.parametrize(
    "spans, message",
    [
        ([("X", 0, 1), ("Y", 1, 2)], "overlaps"),
        ([("X", 2, 3)], "does not fit 3 tokens"),
        ([("X", -1, 0)], "does not fit"),
        ([("X", 2, 1)], "does not fit"),
        ([("", 0, 0)], "no label"),
    ],
)
def test_spans_to_bio_refuses(spans, message):
    with pytest.raises(ValueError, match=message):
        spans_to_bio(spans, 3)


@pytest.mark.parametrize(
    "tags, index",
    [
        (["B-X", "I-X", "I-X", "O"], None),
        ([], None),
        (["I-X"], 0),
        (["B-X", "O", "I-X"], 2),
        (["B-X", "I-Y"], 1),
        (["B-C-X", "I-X"], 1),
        (["O", "X"], 1),
        (["o"], 0),
        ([""], 0),
        (["B-"], 0),
        (["B-X", "I-"], 1),
    ],
)
def test_first_illegal(tags, index):
    assert first_illegal(tags) == index


def test_allowed_transitions_accept_exactly_the_legal_sequences():
    transitions, starts = allowed_transitions(TAGS)
    assert transitions.shape == (5, 5) and starts.shape == (5,)
    assert transitions.dtype == starts.dtype == torch.bool
    for sequence in itertools.product(range(5), repeat=4):
        allowed = starts[sequence[0]] and all(transitions[a, b] for a, b in zip(sequence, sequence[1:]))
        assert bool(allowed) == (first_illegal([TAGS[i] for i in sequence]) is None)


@pytest.mark.parametrize("label", ["@@UNKNOWN@@", "B-", "X", "", "S-X"])
def test_allowed_transitions_refuse_labels_that_are_no_tags(label):
    with pytest.raises(ConfigurationError, match="is not a BIO tag"):
        allowed_transitions(["O", label])
