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


ROLES = ["O", "B-V", "B-ARG0", "I-ARG0", "B-ARG1", "I-ARG1", "B-ARGM-TMP", "I-ARGM-TMP"]


def frames(count, seed, twice=0):
    """
    Frames of six words, of which gold has ARG0, V, ARG1 and perhaps two times; in the first `twice` ARG0 comes twice.
    With gold compete four others; the likeliest one of them has ARG1 twice, and is near to all of the others.
    """
    generator = torch.Generator().manual_seed(seed)
    candidates = torch.tensor(
        [[2, 1, 4, 6, 6, 0], [2, 1, 4, 6, 4, 0], [2, 1, 4, 0, 0, 0], [0, 1, 4, 6, 0, 0], [2, 1, 2, 6, 6, 0]]
    )
    tags = candidates.expand(count, -1, -1).clone()
    scores = torch.tensor([0.2, 1.0, 0.0, 0.0, -0.3]) + 0.5 * torch.randn(count, 5, generator=generator)
    scores, order = scores.sort(dim=1, descending=True)
    tags = tags.gather(1, order.unsqueeze(2).expand(-1, -1, 6))
    gold = candidates[torch.tensor([0, 2, 3])[torch.randint(3, (count,), generator=generator)]]
    gold[:twice] = candidates[4]
    keys = ["go"] * count
    return TagPaths(tags, scores.log_softmax(dim=1), torch.ones(count, 6, dtype=torch.bool), gold, keys)


def twice(tags):
    return sum(any(list(row).count(tag) > 1 for tag in (2, 4)) for row in tags.tolist())


@pytest.mark.parametrize("broken, declared", [(0, True), (1, True), (4, False)])
def test_what_gold_keeps_is_declared_and_kept_by_every_decision(broken, declared):
    """Of 450 frames one that breaks a rule is no reason to let it go, four are."""
    structure = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    given = frames(450, 1, broken)
    report = structure.fit([given], [frames(100, 2)])
    kept = report.get("declared", {}).get("at most once", {})
    assert kept.get("ARG1") == 1 and ("ARG0" in kept) == declared
    with_role = int((given.gold == 2).any(dim=1).sum())
    assert "ARGM-TMP" not in kept and (not declared or kept["ARG0"] == pytest.approx(1 - broken / with_role))
    new = frames(100, 3)
    competing = new.competing(structure.scheme)
    q = structure.probabilities(competing)
    breaks = torch.tensor([[twice(new.tags[row, place].unsqueeze(0)) for place in range(5)] for row in range(100)]) > 0
    if declared:
        assert (q[breaks] == 0).all() and int(breaks.sum()) == 200
    for decision in ("likeliest", "expected_score"):
        structure.chosen["f1"] = decision
        assert (twice(structure.decide(new)[0]) == 0) or not declared
    other = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    other.load_state_dict(structure.state_dict())
    torch.testing.assert_close(other.probabilities(competing), q)


def test_nothing_is_declared_of_entities_or_above_one():
    for settings in ({"keyed": False}, {"keyed": True, "declare_from": 1.5}):
        structure = TagStructure(ROLES, "BIO", energies=["role_ngrams"], **settings)
        assert "declared" not in structure.fit([frames(100, 1)], [frames(50, 2)]) and structure.kept is None


def test_a_state_from_before_rules_were_found():
    structure = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    structure.fit([frames(100, 1)], [frames(50, 2)])
    state = structure.state_dict()
    chosen = b'{"f1": "expected_score", "exact_match": "own"}'
    state["_extra_state"] = torch.tensor(list(chosen), dtype=torch.uint8)
    other = TagStructure(ROLES, "BIO", keyed=True, energies=["role_ngrams"])
    other.load_state_dict(state)
    assert other.chosen == {"f1": "expected_score", "exact_match": "own"} and other.kept is None
    assert other.decide(frames(5, 3))[0].shape == (5, 6)
