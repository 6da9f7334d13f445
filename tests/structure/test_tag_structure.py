import random

import pytest
import torch

from seal.common.tag_encodings import tags_to_spans
from seal.structure import TagPaths, TagStructure
from tests.structure.test_tag_sequences import ENCODINGS


def f1(one, other):
    """Of two sequences of names, predicates left out; 1 where neither has a span."""
    one, other = ({span for span in tags_to_spans(tags) if span[0] != "V"} for tags in (one, other))
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 1.0


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_similarity_is_the_f1_of_the_sets_of_spans(encoding):
    tags = [*ENCODINGS[encoding], *(["B-V", "I-V"] if encoding == "BIO" else ["S-V"])]
    structure = TagStructure(tags, encoding, keyed=False)
    chance = random.Random(1)
    batch, candidates, tokens = 12, 5, 6
    indices = torch.tensor(
        [[[chance.randrange(len(tags)) for _ in range(tokens)] for _ in range(candidates)] for _ in range(batch)]
    )
    indices[0] = 0
    lengths = [chance.randint(1, tokens) for _ in range(batch)]
    mask = torch.arange(tokens) < torch.tensor(lengths).unsqueeze(1)
    competing = TagPaths(indices, torch.zeros(batch, candidates), mask).competing(structure.scheme)
    kept = torch.stack([torch.randperm(candidates)[:4] for _ in range(batch)])
    found = structure.similarity(competing, kept)
    for row in range(batch):
        names = [[tags[tag] for tag in indices[row, place, : lengths[row]].tolist()] for place in kept[row].tolist()]
        assert found[row].tolist() == [pytest.approx([f1(one, other) for other in names]) for one in names]
