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


@pytest.mark.parametrize(
    "encoding, labels, message",
    [
        *(("BIOES", ["O", label], f"'{label}'.*BIOES") for label in ("L-A", "S-", "@@UNKNOWN@@", "NN", "")),
        *(("BIO", ["O", label], f"'{label}'.*BIO") for label in ("@@UNKNOWN@@", "B-", "X", "", "S-X")),
        ("BIO", ["O", "I-B", "B-B", "I-A"], "'I-A'.*'B-A'"),
        ("BIOES", ["O", "B-A", "I-A"], "'B-A'.*'E-A'.*output_space.encoding"),
        ("BIOES", ["B-A", "E-A"], "token"),
    ],
)
def test_refuses_other_tags(encoding, labels, message):
    with pytest.raises(ConfigurationError, match=message):
        tag_transitions(labels, encoding)
