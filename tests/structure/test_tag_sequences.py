import pytest
import torch

from seal.common.tag_encodings import tags_to_spans
from seal.structure.tag_sequences import TagScheme, find_gold
from tests.structure.makers import ENCODINGS, random_tags


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_spans_are_those_of_the_strings_for_any_tags(encoding):
    tags = ENCODINGS[encoding]
    scheme = TagScheme(tags, encoding)
    indices, lengths, mask = random_tags(len(tags), 20, 3, 9)
    spans = scheme.spans(indices, mask)
    for row in range(20):
        for candidate in range(3):
            strings = [tags[i] for i in indices[row, candidate, : lengths[row]]]
            found = [
                (scheme.roles[role], int(first), int(last))
                for role, first, last in zip(*(part[row, candidate] for part in (spans.roles, spans.first, spans.last)))
                if role >= 0
            ]
            assert found == tags_to_spans(strings)


def test_without_an_encoding_each_token_is_a_span():
    scheme = TagScheme(["N", "V"], None)
    spans = scheme.spans(torch.tensor([[[0, 0, 1]]]), torch.tensor([[True, True, False]]))
    assert spans.roles.tolist() == [[[0, 0]]] and spans.last.tolist() == [[[0, 1]]]


def test_gold_is_found_where_it_competes_whatever_stands_at_padding():
    tags = torch.tensor([[[1, 2, 0], [1, 1, 0]], [[0, 0, 0], [2, 2, 2]]])
    gold = torch.tensor([[1, 1, 9], [2, 2, 1]])
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert find_gold(tags, gold, mask).tolist() == [1, -1]
