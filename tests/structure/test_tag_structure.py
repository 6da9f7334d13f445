import random

import pytest
import torch

from seal.common.tag_encodings import tags_to_spans
from seal.metrics.srl_score import frame_counts
from seal.structure import TagPaths, TagStructure
from tests.structure.test_tag_sequences import ENCODINGS


def f1(one, other, keyed=False):
    """Of two sequences of names, of spans or of arguments as `SrlScore` has them; 1 where neither has one."""
    if keyed:
        counts = frame_counts(one, other)
        shared, *sizes = (part.total() for part in (counts.correct, counts.predicted, counts.gold))
        return 2 * shared / sum(sizes) if sum(sizes) else 1.0
    one, other = (set(tags_to_spans(tags)) for tags in (one, other))
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 1.0


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_similarity_is_the_f1_of_the_scores(encoding, keyed):
    """A tagger's counts all spans; that of frames joins `C-X` to `X` and leaves predicates out."""
    further = ["B-V", "I-V", "B-C-A", "B-C-V"] if encoding == "BIO" else ["S-V", "S-C-A", "S-C-V", "S-C-none"]
    tags = [*ENCODINGS[encoding], *further]
    structure = TagStructure(tags, encoding, keyed=keyed)
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
        assert found[row].tolist() == [pytest.approx([f1(one, other, keyed) for other in names]) for one in names]
