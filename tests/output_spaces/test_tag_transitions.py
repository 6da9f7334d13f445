import itertools

import pytest
import torch
from allennlp.common.checks import ConfigurationError

from seal.common.tag_encodings import first_broken
from seal.output_spaces.tag_transitions import tag_transitions

BIOES = ["O", "B-A", "I-A", "E-A", "S-A", "B-B", "E-B"]
BIO = ["O", "B-A", "I-A", "B-B", "I-B"]


@pytest.mark.parametrize("encoding, labels", [("BIO", BIO), ("BIOES", BIOES)])
def test_allows_the_legal_sequences_and_no_other(encoding, labels):
    """Compared with the check of `first_broken`, by enumeration of all sequences of up to four tags."""
    pairs, starts, ends = tag_transitions(labels, encoding)
    legal = 0
    for length in range(1, 5):
        for path in itertools.product(range(len(labels)), repeat=length):
            allowed = starts[path[0]] and ends[path[-1]] and all(pairs[i, j] for i, j in zip(path, path[1:]))
            expected = first_broken([labels[i] for i in path], encoding) is None
            assert bool(allowed) == expected
            legal += expected
    assert legal > 50


def test_bio_tags_that_are_not_all_there():
    pairs, starts, ends = tag_transitions(["I-A", "B-B", "B-A"], "BIO")
    assert pairs.tolist() == [[True, True, True], [False, True, True], [True, True, True]]
    assert starts.tolist() == [False, True, True] and ends.all()
    assert {kind.dtype for kind in (pairs, starts, ends)} == {torch.bool}


@pytest.mark.parametrize("label", ["L-A", "S-", "@@UNKNOWN@@", "NN", ""])
def test_refuses_other_labels(label):
    with pytest.raises(ConfigurationError, match="is not a BIOES tag"):
        tag_transitions(["O", label], "BIOES")


@pytest.mark.parametrize("label", ["@@UNKNOWN@@", "B-", "X", "", "S-X"])
def test_refuses_labels_that_are_not_bio(label):
    with pytest.raises(ConfigurationError, match="is not a BIO tag"):
        tag_transitions(["O", label], "BIO")


def test_refuses_iob1_in_the_place_of_bio():
    with pytest.raises(ConfigurationError, match="not BIO: there is 'I-A' and no 'B-A'; of IOB1 tags set"):
        tag_transitions(["O", "I-B", "B-B", "I-A"], "BIO")


def test_refuses_bio_in_the_place_of_bioes():
    message = "not BIOES: there is 'B-A' and no 'E-A'; of BIO tags set output_space.encoding"
    with pytest.raises(ConfigurationError, match=message):
        tag_transitions(["O", "B-A", "I-A"], "BIOES")


def test_refuses_labels_that_leave_a_lone_token_without_a_tag():
    with pytest.raises(ConfigurationError, match="lone token"):
        tag_transitions(["B-A", "E-A"], "BIOES")
